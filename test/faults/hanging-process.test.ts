/** A process with an append that hangs for ever reports it, and ends: by itself, or on a signal. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import { advisoryLocks } from '../../src/storage/database/advisory-locks.ts';
import { Client } from '../support/client.ts';
import { isPostgresRunning } from '../support/data-folder.ts';
import { createDatabase } from '../support/postgres.ts';
import { launchServer, sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { exitCodeOf, expectStandstill, hang, hangs } from './hanging.ts';
import { killEverything } from './kill.ts';

const closers: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/** A service with a table. From then on its appends hang, and one already does. */
async function startHanging(environment: Readonly<Record<string, string>>): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-hangs-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const server = await startServer({
    folder,
    nodeArgs: hangs,
    environment: { DRAIN_TIMEOUT_MS: '500', ...environment },
  });
  closers.push(() => killEverything(server));
  const client = new Client(server.url, await server.token());
  expect((await client.post('/tables', { name: 'before', rows: [] })).status).toBe(201);
  await hang(server, client);
  return server;
}

/** A service whose start waits for a lock that is never released. */
async function launchHanging(): Promise<TestServer> {
  const { url: databaseUrl, drop } = await createDatabase();
  closers.push(drop);
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  closers.push(() => holder.end());
  await holder.query('select pg_advisory_lock($1, hashtext($2))', [advisoryLocks.usesReadModel, readModelSchema]);
  const server = await launchServer({ databaseUrl, environment: { DRAIN_TIMEOUT_MS: '0' } });
  closers.push(() => server.stop('SIGKILL'));
  const waiting = `select from pg_locks join pg_database on oid = database where datname = current_database() and locktype = 'advisory' and not granted`;
  await sleepUntil(async () => (await holder.query(waiting)).rowCount === 1, 'the start waits');
  return server;
}

/**
 * One process is left alone. Two get SIGTERM, one of them while it starts. All at the same time, because each takes
 * long.
 */
let alone: TestServer;
let told: TestServer;
let starting: TestServer;

beforeAll(async () => {
  [alone, told, starting] = await Promise.all([
    startHanging({ STANDSTILL_MAX_MS: '10000' }),
    startHanging({}),
    launchHanging(),
  ]);
  told.process.kill('SIGTERM');
  starting.process.kill('SIGTERM');
});

test('a hanging process is not ready, names the partition, and ends itself with exit code 1', async () => {
  const ended = exitCodeOf(alone);
  await expectStandstill(alone, 'an outcome, the last one was stored before offset \\d+');
  expect((await fetch(`${alone.url}/livez`)).status).toBe(200);
  expect(await ended).toBe(1);
  expect(alone.output()).toContain('This process hangs. It ends now, so that it is restarted.');
  expect(alone.output()).toContain('gives up closing its appends to the log');
  expect(await isPostgresRunning(alone.folder)).toBe(false);
});

test('SIGTERM ends a hanging process and its Postgres', async () => {
  expect(await exitCodeOf(told)).toBe(1);
  expect(told.output()).toContain('gives up closing its appends to the log');
  expect(await isPostgresRunning(told.folder)).toBe(false);
});

test('SIGTERM ends a process while a step of its start hangs', async () => {
  expect(await exitCodeOf(starting)).toBe(1);
  expect(starting.output()).toContain('a step of its start does not end');
});
