/**
 * The service as the conformance tests use it, over HTTP. The test project decides how it is deployed, so that the same
 * tests run against each kind of deployment.
 */
import { afterAll, beforeAll } from '@jest/globals';
import type { Plan } from '../../commands/plans.ts';
import type { TokenLimits } from '../../commands/teams.ts';
import { Client } from './client.ts';
import { deploymentKind } from './deployment-kind.ts';
import { callDeployments } from './deployment-server.ts';
import type { Deployment } from './deployments.ts';

export interface Team {
  readonly id: string;
  readonly client: Client;
  /** Creates one more token of the team. */
  createToken(limits: TokenLimits): Promise<Token>;
  suspend(): Promise<void>;
  resume(): Promise<void>;
  setPlan(plan: Plan): Promise<void>;
}

/** An access token, and a client that uses it. */
export interface Token {
  readonly id: string;
  readonly client: Client;
}

export interface Api extends Omit<Deployment, 'id'> {
  readonly url: string;
  /** The output of each process so far. */
  outputs(): Promise<string[]>;
  /** Creates a team without tables. */
  createTeam(): Promise<Team>;
  /** Creates a token of an operator. `expiresAt`: in milliseconds of log time; absent: never. */
  createOperatorToken(expiresAt?: number): Promise<Token>;
  /** Run before the service is stopped. */
  readonly closers: (() => Promise<unknown>)[];
}

/** Settings that differ from the defaults; a function if they are known only later. */
type Settings = Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);

/** The service and a team in it, for all tests of a file. Call these within tests. */
export interface ApiOfFile {
  api(): Api;
  client(): Client;
}

/** The service answers 202 at once if the request permits it. Maintenance runs only when a test runs it. */
export const promptly = { ASYNC_WAIT_MS: '0', MAINTENANCE_INTERVAL_MS: '3600000' };

/** The service with these settings, shared by all test files that use the same settings. Each file has its own team. */
export function useApi(settings: Readonly<Record<string, string>> = {}): ApiOfFile {
  return useDeployment(
    () => callDeployments('share', deploymentKind, settings),
    async () => undefined,
  );
}

/** A service for this file alone: for special settings, measurements, or disturbances. Stopped after the tests. */
export function useOwnApi(settings: Settings = {}): ApiOfFile {
  return useDeployment(
    () => callDeployments('start', deploymentKind, typeof settings === 'function' ? settings() : settings),
    ({ id }) => callDeployments('stop', id),
  );
}

function useDeployment(open: () => Promise<Deployment>, close: (deployment: Deployment) => Promise<void>): ApiOfFile {
  const closers: (() => Promise<unknown>)[] = [];
  let api: Api | undefined;
  let team: Team | undefined;
  beforeAll(async () => {
    const deployment = await open();
    closers.push(() => close(deployment));
    api = apiOf(deployment, closers);
    team = await api.createTeam();
  });
  afterAll(async () => {
    for (const closer of closers.toReversed()) await closer();
  });
  return { api: () => api!, client: () => team!.client };
}

function apiOf(deployment: Deployment, closers: Api['closers']): Api {
  const { id, processes } = deployment;
  const urls = processes.filter(({ role }) => role !== 'projector').map(({ url }) => url);
  return {
    ...deployment,
    closers,
    url: urls[0]!,
    outputs: () => callDeployments('outputs', id),
    createOperatorToken: async (expiresAt) => {
      const made = await callDeployments('createOperatorToken', id, expiresAt ?? null);
      return { id: made.id, client: new Client(urls, made.token) };
    },
    createTeam: async () => {
      const teamId = await callDeployments('createTeam', id);
      const newToken = async (limits: TokenLimits = {}): Promise<Token> => {
        const made = await callDeployments('createToken', id, teamId, limits);
        return { id: made.id, client: new Client(urls, made.token) };
      };
      const { client } = await newToken();
      return {
        id: teamId,
        client,
        createToken: newToken,
        suspend: () => callDeployments('suspend', id, teamId),
        resume: () => callDeployments('resume', id, teamId),
        setPlan: (plan) => callDeployments('setPlan', id, teamId, plan),
      };
    },
  };
}
