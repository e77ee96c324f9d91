/**
 * The service as the conformance tests meet it: on a log and a database of its own, spoken to over HTTP. How it is started
 * stands here and nowhere else, so that the same tests run against each kind of deployment. Teams, plans and suspensions have
 * no HTTP interface; they are recorded as an operator's tool would do it.
 */
import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { pino } from 'pino';
import { createTeam, createToken, resumeTeam, setPlan, suspendTeam } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/teams.queries.ts';
import { newAccessToken } from '../../src/access-token.ts';
import { readConfig } from '../../src/config.ts';
import type { SecretKeys } from '../../src/database/secret-keys.ts';
import { recordFact } from '../../src/record-fact.ts';
import { openService, type Service } from '../../src/service.ts';
import { Client } from './client.ts';
import { createLog, roles } from './deployment-kind.ts';
import { createDatabase } from './postgres.ts';
import { startServers } from './server.ts';

export interface Team {
  readonly id: string;
  readonly client: Client;
  suspend(): Promise<void>;
  resume(): Promise<void>;
  /** `rowsMax` null: no limit. */
  setPlan(rowsMax: number | null): Promise<void>;
}

/** One of the processes that are the service together. */
export interface ApiProcess {
  readonly role: string;
  readonly url: string;
  /** What it wrote so far. */
  output(): string;
}

export interface Api {
  readonly url: string;
  readonly processes: readonly ApiProcess[];
  /** What the service signs with. */
  readonly keys: SecretKeys;
  /** A process of the same service that answers nobody and does nothing by itself: for what is done in the background. */
  readonly operator: Service;
  /** A new team without tables. */
  createTeam(): Promise<Team>;
  /** Stops the process; rejects when it does not end well. */
  stop(): Promise<void>;
}

/** `environment`: settings that differ from the defaults. */
export async function startApi(environment: Readonly<Record<string, string>> = {}): Promise<Api> {
  const [database, log] = await Promise.all([createDatabase(), createLog()]);
  const servers = await startServers(roles.map((ROLE) => {
    return { databaseUrl: database.url, environment: { ...environment, ...log.environment, ROLE } };
  }));
  const urls = servers.filter((_, at) => roles[at] !== 'projector').map(({ url }) => url);
  const config = readConfig({ ...log.environment, DATABASE_URL: database.url, DATA_DIR: servers[0]!.folder });
  const stopping = new AbortController();
  const operator = await openService(config, pino({ level: 'silent' }), stopping.signal, { projects: false });
  await operator.log.caughtUp();
  return {
    url: urls[0]!,
    processes: servers.map(({ url, output }, at) => ({ role: roles[at]!, url, output })),
    keys: operator.keys,
    operator,
    createTeam: () => recordTeam(operator, urls),
    stop: async () => {
      stopping.abort();
      await operator.close();
      const exitCodes = await Promise.all(servers.map((server) => server.stop()));
      await Promise.all([database.drop(), log.drop()]);
      if (exitCodes.some((exitCode) => exitCode !== 0)) {
        const outputs = servers.map((server) => server.output()).join('\n');
        throw new Error(`the servers ended with ${exitCodes.join(', ')}:\n${outputs}`);
      }
    },
  };
}

async function recordTeam({ log }: Service, urls: readonly string[]): Promise<Team> {
  const id = randomUUIDv7();
  const token = newAccessToken();
  await recordFact(log, createTeam(id, 'test'));
  await recordFact(log, createToken(id, randomUUIDv7(), 'test', hashToken(token)));
  return {
    id,
    client: new Client(urls, token),
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
