/**
 * The service as the conformance tests meet it: a process on a database of its own, spoken to over HTTP. How it is started
 * stands here and nowhere else, so that the same tests can be run against other set-ups. Teams, plans and suspensions have
 * no HTTP interface; they are recorded as an operator's tool would do it.
 */
import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { pino } from 'pino';
import { createTeam, createToken, resumeTeam, setPlan, suspendTeam } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/teams.queries.ts';
import { newAccessToken } from '../../src/access-token.ts';
import { readConfig } from '../../src/config.ts';
import { recordFact } from '../../src/record-fact.ts';
import { openService, type Service } from '../../src/service.ts';
import { Client } from './client.ts';
import { createDatabase } from './postgres.ts';
import { startServer } from './server.ts';

export interface Team {
  readonly id: string;
  readonly client: Client;
  suspend(): Promise<void>;
  resume(): Promise<void>;
  /** `rowsMax` null: no limit. */
  setPlan(rowsMax: number | null): Promise<void>;
}

export interface Api {
  readonly url: string;
  /** A new team without tables. */
  createTeam(): Promise<Team>;
  /** Stops the process; rejects when it does not end well. */
  stop(): Promise<void>;
}

/** `environment`: settings that differ from the defaults. */
export async function startApi(environment: Readonly<Record<string, string>> = {}): Promise<Api> {
  const database = await createDatabase();
  const server = await startServer({ databaseUrl: database.url, environment });
  const config = readConfig({ DATABASE_URL: database.url, DATA_DIR: server.folder });
  const stopping = new AbortController();
  const operator = await openService(config, pino({ level: 'silent' }), stopping.signal);
  return {
    url: server.url,
    createTeam: () => recordTeam(operator, server.url),
    stop: async () => {
      stopping.abort();
      await operator.close();
      const exitCode = await server.stop();
      await database.drop();
      if (exitCode !== 0) throw new Error(`the server ended with ${exitCode}:\n${server.output()}`);
    },
  };
}

async function recordTeam({ log }: Service, url: string): Promise<Team> {
  const id = randomUUIDv7();
  const token = newAccessToken();
  await recordFact(log, createTeam(id, 'test'));
  await recordFact(log, createToken(id, randomUUIDv7(), 'test', hashToken(token)));
  return {
    id,
    client: new Client(url, token),
    suspend: () => recordFact(log, suspendTeam(id)),
    resume: () => recordFact(log, resumeTeam(id)),
    setPlan: (rowsMax) => recordFact(log, setPlan(id, rowsMax)),
  };
}

/** The service and a team in it, for all tests of a file. To be used within them. */
export interface ApiOfFile {
  api(): Api;
  client(): Client;
}

/** Starts the service before the tests of a file, and stops it after them. */
export function useApi(environment: Readonly<Record<string, string>> = {}): ApiOfFile {
  let api: Api | undefined;
  let team: Team | undefined;
  beforeAll(async () => {
    api = await startApi(environment);
    team = await api.createTeam();
  });
  afterAll(async () => {
    await api?.stop();
  });
  return { api: () => api!, client: () => team!.client };
}
