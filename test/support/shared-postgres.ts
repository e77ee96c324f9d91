/**
 * The shared Postgres of the tests: the one of DATABASE_URL, or a container if there is a Docker engine, or the
 * embedded one.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import pg from 'pg';
import { Wait } from 'testcontainers';
import { startEmbeddedPostgres } from '../../src/storage/embedded/embedded-postgres.ts';
import { hasEngine } from './docker-engine.ts';
import { sleepUntil } from './server.ts';

/**
 * Enough connections for several deployments with up to five processes, which use 26 each. The server is never killed,
 * so durability is off.
 */
const settings = { max_connections: '600', fsync: 'off', full_page_writes: 'off' };

export interface SharedPostgres {
  readonly url: string;
  /** A description of where it runs. */
  readonly where: string;
  stop(): Promise<void>;
}

export async function startSharedPostgres(): Promise<SharedPostgres> {
  const given = process.env['DATABASE_URL'];
  if (given) return { url: given, where: 'the Postgres of DATABASE_URL', stop: async () => undefined };
  if (await hasEngine()) return inContainer();
  if (process.env['TABLOG_TEST_REQUIRES_CONTAINERS'] === 'true')
    throw new Error('there is no Docker engine for the tests');
  return embedded();
}

async function inContainer(): Promise<SharedPostgres> {
  const image = process.env['POSTGRES_IMAGE'] ?? 'postgres:18';
  const container = await new PostgreSqlContainer(image)
    .withDatabase('tablog')
    // Proving a password takes both sides most of the time of a connection, and the tests make thousands of
    // connections. The embedded Postgres does require a password.
    .withEnvironment({ POSTGRES_HOST_AUTH_METHOD: 'trust' })
    .withCommand(['postgres', ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])])
    // The default health check would start a process in the container four times a second.
    .withHealthCheck({ test: ['CMD', 'true'], interval: 3_600_000 })
    .withWaitStrategy(Wait.forListeningPorts())
    .start();
  const url = container.getConnectionUri();
  await sleepUntil(() => takesConnections(url), 'Postgres takes connections');
  return {
    url,
    where: `the container image ${image}`,
    stop: async () => {
      await container.stop();
    },
  };
}

async function takesConnections(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}

async function embedded(): Promise<SharedPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-test-postgres-'));
  const postgres = await startEmbeddedPostgres({ folder, log: () => undefined, settings });
  return {
    url: postgres.url,
    where: 'the embedded Postgres',
    stop: async () => {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
