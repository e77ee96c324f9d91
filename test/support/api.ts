/**
 * The service as the conformance tests meet it, spoken to over HTTP. How it is deployed is a matter of the test project, so that the
 * same tests run against each kind of deployment.
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

export interface Api extends Omit<Deployment, 'id'> {
  readonly url: string;
  /** What each process wrote so far. */
  outputs(): Promise<string[]>;
  /** A new team without tables. */
  createTeam(): Promise<Team>;
  /** What is to be closed before the service is stopped. */
  readonly closers: (() => Promise<unknown>)[];
}

/** Settings that differ from the defaults; a function when they are not known before. */
type Settings = Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);

/** The service and a team in it, for all tests of a file. To be used within them. */
export interface ApiOfFile {
  api(): Api;
  client(): Client;
}

/** Nobody waits for an outcome who permits not to, and maintenance is for the tests to do. */
export const promptly = { ASYNC_WAIT_MS: '0', MAINTENANCE_INTERVAL_MS: '3600000' };

/** The service with these settings. Other files that want it so use it at the same time, with teams of their own. */
export function useApi(settings: Readonly<Record<string, string>> = {}): ApiOfFile {
  return useDeployment(() => callDeployments('share', deploymentKind, settings), async () => undefined);
}

/** A service that no other file uses: with settings that only this file wants, or measured, or disturbed. It is stopped after the tests. */
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
    ...deployment, closers,
    url: urls[0]!,
    outputs: () => callDeployments('outputs', id),
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
