/**
 * The Postgres that the tests share: the one of DATABASE_URL; else a container, where there is a Docker engine; else the
 * embedded one. Each test file makes a database of its own in it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { hasEngine } from './docker-engine.ts';

export interface SharedPostgres {
  readonly url: string;
  /** Where it runs, for people. */
  readonly where: string;
  stop(): Promise<void>;
}

export async function startSharedPostgres(): Promise<SharedPostgres> {
  const given = process.env['DATABASE_URL'];
  if (given) return { url: given, where: 'the Postgres of DATABASE_URL', stop: async () => undefined };
  if (await hasEngine()) return inContainer();
  if (process.env['TABLOG_TEST_REQUIRES_CONTAINERS'] === 'true') throw new Error('there is no Docker engine for the tests');
  return embedded();
}

async function inContainer(): Promise<SharedPostgres> {
  const image = process.env['POSTGRES_IMAGE'] ?? 'postgres:18';
  const container = await new PostgreSqlContainer(image).withDatabase('tablog').start();
  return {
    url: container.getConnectionUri(),
    where: `the container image ${image}`,
    stop: async () => {
      await container.stop();
    },
  };
}

async function embedded(): Promise<SharedPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-test-postgres-'));
  const postgres = await startEmbeddedPostgres({ folder, log: () => undefined });
  return {
    url: postgres.url,
    where: 'the embedded Postgres',
    stop: async () => {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

let databases = 0;

/** A new, empty database in the shared Postgres, and how to drop it. */
export async function createDatabase(template = 'template1'): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const shared = process.env['TABLOG_TEST_POSTGRES'];
  if (!shared) throw new Error('the shared Postgres was not started: see test/support/start-postgres.ts');
  databases += 1;
  const name = `test_${process.pid}_${Date.now()}_${databases}`;
  await administer(shared, `create database ${name} template ${template}`, inUse);
  const url = new URL(shared);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(shared, `drop database ${name} with (force)`) };
}

/** A copy of a database that nobody is connected to, and how to drop it. */
export async function cloneDatabase(url: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  return createDatabase(new URL(url).pathname.slice(1));
}

/** A connection that was closed just now may be there still, for Postgres. */
const inUse = '55006';
const releasedWithin = 10_000;

/** `again`: the code of an error that passes by itself. */
async function administer(url: string, statement: string, again?: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const giveUpAt = performance.now() + releasedWithin;
  try {
    for (;;) {
      try {
        await client.query(statement);
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== again || performance.now() > giveUpAt) throw error;
        await sleep(50);
      }
    }
  } finally {
    await client.end();
  }
}
