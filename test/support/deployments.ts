/**
 * The deployments of the service that API tests use. They run in Jest's main process, so that test files share them and
 * need not load the service. Teams, plans and suspensions have no HTTP interface, so they are recorded here, as an
 * operator's tool would do.
 */
import { randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resumeTeam, setPlan, suspendTeam, type Plan } from '../../commands/plans.ts';
import { createTeam, createToken, type TokenLimits } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/hash-token.ts';
import { newAccessToken } from '../../src/storage/security/access-token.ts';
import { newToken } from '../../src/administration/tokens.ts';
import { addOperatorToken } from '../../src/storage/security/operator-tokens.ts';
import { recordFact } from '../../src/log/record-fact.ts';
import type { Service } from '../../src/app/service.ts';
import { createLog, type DeploymentKind } from './deployment-kind.ts';
import { openOperator } from './open-operator.ts';
import { createDatabase } from './postgres.ts';
import { startServers, type TestServer } from './server.ts';

/** A deployment, as test files see it. */
export interface Deployment {
  readonly id: string;
  readonly processes: readonly { readonly role: string; readonly url: string }[];
  readonly databaseUrl: string;
  /** The folder in which the service stores files, unless its settings differ. */
  readonly filesFolder: string;
  /** The settings of an operator's process that joins the deployment. */
  readonly operatorEnvironment: Readonly<Record<string, string>>;
}

export interface NewToken {
  readonly id: string;
  readonly token: string;
}

interface Running {
  readonly deployment: Deployment;
  readonly servers: readonly TestServer[];
  /** Records facts that have no HTTP interface. */
  readonly operator: Service;
  /** Rejects if a process does not end cleanly. */
  stop(): Promise<void>;
}

/** The role of each process of a deployment. */
const rolesOf = (kind: DeploymentKind): readonly string[] =>
  kind === 'kafka-split' ? ['api', 'api', 'projector', 'projector'] : ['all'];

/** Arguments and results are JSON: test files call the methods over HTTP (deployment-server.ts). */
export class Deployments {
  readonly #running = new Map<string, Running>();
  readonly #shared = new Map<string, Promise<Deployment>>();

  /** The shared deployment of a kind and settings. It runs until the end. */
  share(kind: DeploymentKind, settings: Readonly<Record<string, string>>): Promise<Deployment> {
    const key = JSON.stringify([kind, settings]);
    const earlier = this.#shared.get(key);
    if (earlier !== undefined) return earlier;
    const shared = this.start(kind, settings);
    this.#shared.set(key, shared);
    // If it fails, the next file tries again.
    shared.catch(() => this.#shared.delete(key));
    return shared;
  }

  /** `settings`: those that differ from the defaults. */
  async start(kind: DeploymentKind, settings: Readonly<Record<string, string>>): Promise<Deployment> {
    const running = await start(kind, settings);
    this.#running.set(running.deployment.id, running);
    return running.deployment;
  }

  /** Rejects if a process does not end cleanly. */
  async stop(id: string): Promise<void> {
    const running = this.#find(id);
    this.#running.delete(id);
    await running.stop();
  }

  /** Stops all remaining deployments. */
  async stopAll(): Promise<void> {
    await Promise.allSettled(this.#shared.values());
    const ended = await Promise.allSettled([...this.#running.keys()].map((id) => this.stop(id)));
    const failures = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    if (failures.length > 0) throw new AggregateError(failures, failures.join('\n'));
  }

  /** The output of each process so far. */
  async outputs(id: string): Promise<string[]> {
    return this.#find(id).servers.map((server) => server.output());
  }

  /** Creates a team without tables, and returns its ID. */
  async createTeam(id: string): Promise<string> {
    const teamId = randomUUIDv7();
    await recordFact(this.#find(id).operator.log, createTeam(teamId, 'test'));
    return teamId;
  }

  async createToken(id: string, teamId: string, limits: TokenLimits): Promise<NewToken> {
    const [tokenId, token] = [randomUUIDv7(), newAccessToken()];
    await recordFact(this.#find(id).operator.log, createToken(teamId, tokenId, 'test', hashToken(token), limits));
    return { id: tokenId, token };
  }

  async createOperatorToken(id: string, expiresAt: number | null): Promise<NewToken> {
    const made = newToken();
    await addOperatorToken(this.#find(id).operator.database.pool, {
      id: made.id,
      hash: hashToken(made.token),
      name: 'test',
      expiresAt,
      endsIn: null,
    });
    return made;
  }

  async suspend(id: string, teamId: string): Promise<void> {
    await recordFact(this.#find(id).operator.log, suspendTeam(teamId));
  }

  async resume(id: string, teamId: string): Promise<void> {
    await recordFact(this.#find(id).operator.log, resumeTeam(teamId));
  }

  async setPlan(id: string, teamId: string, plan: Plan): Promise<void> {
    await recordFact(this.#find(id).operator.log, setPlan(teamId, plan));
  }

  #find(id: string): Running {
    const running = this.#running.get(id);
    if (running === undefined) throw new Error(`there is no deployment ${id}`);
    return running;
  }
}

async function start(kind: DeploymentKind, settings: Readonly<Record<string, string>>): Promise<Running> {
  const roles = rolesOf(kind);
  const [database, log, filesFolder] = await Promise.all([
    createDatabase(),
    createLog(kind),
    mkdtemp(join(tmpdir(), 'tablog-files-')),
  ]);
  // On a slow machine, it may take long until another projector gets a partition.
  const patience = kind === 'postgres' ? {} : { OUTCOME_WAIT_MS: '60000' };
  // All tests use one address, and many send wrong tokens.
  const servers = await startServers(
    roles.map((ROLE) => {
      return {
        databaseUrl: database.url,
        environment: {
          FILES_DIR: filesFolder,
          RATE_LIMIT_REFUSALS: '0',
          RATE_LIMIT_PUBLIC: '0',
          RATE_LIMIT_CONNECTIONS: '0',
          ...patience,
          ...settings,
          ...log.environment,
          ROLE,
        },
      };
    }),
  );
  const operatorEnvironment = {
    ...patience,
    ...log.environment,
    DATABASE_URL: database.url,
    DATA_DIR: servers[0]!.folder,
  };
  const operator = await openOperator(operatorEnvironment);
  const processes = servers.map(({ url }, at) => ({ role: roles[at]!, url }));
  return {
    deployment: { id: randomUUIDv7(), processes, databaseUrl: database.url, filesFolder, operatorEnvironment },
    servers,
    operator,
    stop: async () => {
      await operator.close();
      const exitCodes = await Promise.all(servers.map((server) => server.stop()));
      await Promise.all([database.drop(), log.drop(), rm(filesFolder, { recursive: true, force: true })]);
      if (exitCodes.some((exitCode) => exitCode !== 0)) {
        throw new Error(
          `the servers ended with ${exitCodes.join(', ')}:\n${servers.map((server) => server.output()).join('\n')}`,
        );
      }
    },
  };
}
