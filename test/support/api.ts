/**
 * The service as the conformance tests meet it: on a log and a database of its own, spoken to over HTTP. How it is started
 * stands here and nowhere else, so that the same tests run against each kind of deployment. Teams, plans and suspensions have
 * no HTTP interface; they are recorded as an operator's tool would do it.
 */
import { randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { pino } from 'pino';
import { resumeTeam, setPlan, suspendTeam, type Plan } from '../../commands/plans.ts';
import { createTeam, createToken, type TokenLimits } from '../../commands/teams.ts';
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
  /** One more token of it. */
  createToken(limits: TokenLimits): Promise<Token>;
  suspend(): Promise<void>;
  resume(): Promise<void>;
  setPlan(plan: Plan): Promise<void>;
}

/** An access token, and a client that has it. */
export interface Token {
  readonly id: string;
  readonly client: Client;
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
  readonly databaseUrl: string;
  /** Where the service keeps files, unless its settings say otherwise. */
  readonly filesFolder: string;
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
  const [database, log, filesFolder] = await Promise.all([createDatabase(), createLog(), mkdtemp(join(tmpdir(), 'tablog-files-'))]);
  const servers = await startServers(roles.map((ROLE) => {
    return { databaseUrl: database.url, environment: { FILES_DIR: filesFolder, ...environment, ...log.environment, ROLE } };
  }));
  const urls = servers.filter((_, at) => roles[at] !== 'projector').map(({ url }) => url);
  const config = readConfig({ ...log.environment, DATABASE_URL: database.url, DATA_DIR: servers[0]!.folder });
  const stopping = new AbortController();
  const operator = await openService(config, pino({ level: 'silent' }), stopping.signal, { projects: false });
  await operator.log.caughtUp();
  return {
    url: urls[0]!,
    processes: servers.map(({ url, output }, at) => ({ role: roles[at]!, url, output })),
    databaseUrl: database.url,
    filesFolder,
    keys: operator.keys,
    operator,
    createTeam: () => recordTeam(operator, urls),
    stop: async () => {
      stopping.abort();
      await operator.close();
      const exitCodes = await Promise.all(servers.map((server) => server.stop()));
      await Promise.all([database.drop(), log.drop(), rm(filesFolder, { recursive: true, force: true })]);
      if (exitCodes.some((exitCode) => exitCode !== 0)) {
        const outputs = servers.map((server) => server.output()).join('\n');
        throw new Error(`the servers ended with ${exitCodes.join(', ')}:\n${outputs}`);
      }
    },
  };
}

async function recordTeam({ log }: Service, urls: readonly string[]): Promise<Team> {
  const id = randomUUIDv7();
  const newToken = async (limits: TokenLimits = {}): Promise<Token> => {
    const token = newAccessToken();
    const tokenId = randomUUIDv7();
    await recordFact(log, createToken(id, tokenId, 'test', hashToken(token), limits));
    return { id: tokenId, client: new Client(urls, token) };
  };
  await recordFact(log, createTeam(id, 'test'));
  const { client } = await newToken();
  return {
    id,
    client,
    createToken: newToken,
    suspend: () => recordFact(log, suspendTeam(id)),
    resume: () => recordFact(log, resumeTeam(id)),
    setPlan: (plan) => recordFact(log, setPlan(id, plan)),
  };
}

/** The service and a team in it, for all tests of a file. To be used within them. */
export interface ApiOfFile {
  api(): Api;
  client(): Client;
}

/** Starts the service before the tests of a file, and stops it after them. Settings that are not known before are asked for then. */
export function useApi(environment: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>) = {}): ApiOfFile {
  let api: Api | undefined;
  let team: Team | undefined;
  beforeAll(async () => {
    api = await startApi(typeof environment === 'function' ? environment() : environment);
    team = await api.createTeam();
  });
  afterAll(async () => {
    await api?.stop();
  });
  return { api: () => api!, client: () => team!.client };
}
