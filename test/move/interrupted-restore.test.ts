/**
 * docs/operate/backups.md: a restore to Kafka that ended between its last append and its commit is run again, and
 * all partitions go on.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import pino from 'pino';
import { readModelSchema } from '../../projections/models.ts';
import { readConfig } from '../../src/app/config.ts';
import { openCopyTarget } from '../../src/app/open-log.ts';
import { openBackupStore } from '../../src/operations/backup/open-store.ts';
import { restore } from '../../src/operations/backup/restore.ts';
import { readSet } from '../../src/operations/backup/manifest.ts';
import { decodeEvent } from '../../src/language/events/event-codec.ts';
import type { RecordLog } from '../../src/log/event-log.ts';
import { allPartitions } from '../../src/log/partition.ts';
import { Client } from '../support/client.ts';
import { createTopic } from '../support/kafka/topics.ts';
import { createDatabase } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { outputOf } from '../support/tablog.ts';

type Environment = Readonly<Record<string, string>>;

const logger = pino({ level: 'silent' });
const closers: (() => Promise<unknown>)[] = [];
let folder: string;
let backups: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-interrupted-restore-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  backups = join(folder, 'backups');
});

afterAll(async () => {
  for (const closer of closers.toReversed()) await closer();
});

async function emptyPlace(name: string): Promise<Environment> {
  const [database, topic] = await Promise.all([createDatabase(), createTopic()]);
  closers.push(
    () => database.drop(),
    () => topic.drop(),
  );
  return { ...topic.environment, DATABASE_URL: database.url, DATA_DIR: join(folder, name) };
}

async function query(place: Environment, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: place['DATABASE_URL'] });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** What `work` resolves to with the log of a place. */
async function withLog<T>(place: Environment, work: (log: RecordLog) => Promise<T>): Promise<T> {
  const log = await openCopyTarget(readConfig(place), place['DATABASE_URL']!, logger);
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

/** Begins a restore that fails right after its append number `appends`. */
async function restoreUntil(set: string, place: Environment, appends: number): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const store = resources.adopt(await openBackupStore(backups, readConfig({}), { make: false }), (opened) =>
    opened.close(),
  );
  await withLog(place, async (log) => {
    let left = appends;
    const failing = new Proxy(log, {
      get: (target, name) => {
        if (name === 'appendRecord') {
          return async (partition: number, bytes: Uint8Array): Promise<void> => {
            await target.appendRecord(partition, bytes);
            left -= 1;
            if (left === 0) throw new Error('the restore is interrupted');
          };
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    await restore(await readSet(store, set), {
      store,
      url: place['DATABASE_URL']!,
      kafka: failing,
      files: null,
      manifestKey: null,
      passphrase: null,
      withoutReadModel: false,
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
  });
}

/** The type of the last event of each partition. */
function lastEvents(place: Environment): Promise<string[]> {
  return withLog(place, (log) =>
    Promise.all(
      allPartitions(log.partitions).map(async (partition) => {
        const { end } = await log.bounds(partition);
        if (end === 0n) return 'none';
        const types: string[] = [];
        for await (const batch of log.read(partition, end - 1n, end))
          types.push(...batch.map(({ bytes }) => decodeEvent(bytes).data.type));
        return types.at(-1)!;
      }),
    ),
  );
}

test('each partition is resumed, and none stays halted, wherever the restore before was interrupted', async () => {
  const source = await emptyPlace('source');
  const server = await startServer({ folder: source['DATA_DIR']!, environment: source });
  const client = new Client(server.url, await server.token());
  const table = await createTable(client, [{ n: 1 }]);
  expect(await server.stop()).toBe(0);
  await query(source, `update ${readModelSchema}.progress set halted = 'its log lost records', contradicted = true`);
  const { id: set } = JSON.parse(await outputOf(['backup', backups, '--behind', '--without-keys', '--json'], source));

  const place = await emptyPlace('place');
  const partitions = (await lastEvents(place)).length;
  for (const appends of [1, partitions - 1, partitions])
    await expect(restoreUntil(set, place, appends)).rejects.toThrow('the restore is interrupted');
  // What was appended before is in the topic: the partitions do not end with the set any more.
  await outputOf(['restore', backups, '--set', set, '--without-keys', '--unsigned'], place);

  expect(await lastEvents(place)).toEqual(Array.from({ length: partitions }, () => 'LogResumed'));
  expect(
    await query(place, `select partition from ${readModelSchema}.progress where halted is not null or contradicted`),
  ).toEqual([]);
  const restored = await startServer({ folder: place['DATA_DIR']!, environment: place });
  try {
    const reader = new Client(restored.url, client.token);
    expect((await reader.get(table.path)).version).toBe(table.version);
    const patched = await reader.send(`${table.path}/${table.rowIds[0]}`, { method: 'PATCH', body: { n: 2 } });
    expect(patched.status).toBe(200);
    expect(patched.version).toBeGreaterThan(2 ** 32);
  } finally {
    await restored.stop();
  }
});

test('versions go on above a LogResumed that stands beyond the set', async () => {
  const place = await emptyPlace('beyond');
  const server = await startServer({ folder: place['DATA_DIR']!, environment: place });
  const client = new Client(server.url, await server.token());
  const table = await createTable(client, [{ n: 1 }]);
  const { id: set } = JSON.parse(await outputOf(['backup', backups, '--without-keys', '--json'], place));
  // The second raises the base by more than time alone.
  for (const _ of [1, 2]) await outputOf(['log', 'resume'], place);
  const before = await client.send(`${table.path}/${table.rowIds[0]}`, { method: 'PATCH', body: { n: 2 } });
  expect(before.status).toBe(200);
  expect(await server.stop()).toBe(0);

  const database = await createDatabase();
  closers.push(() => database.drop());
  const beside = { ...place, DATABASE_URL: database.url };
  await outputOf(['restore', backups, '--set', set, '--without-keys', '--unsigned'], beside);
  const restored = await startServer({ folder: place['DATA_DIR']!, environment: beside });
  try {
    const after = await new Client(restored.url, client.token).send(`${table.path}/${table.rowIds[0]}`, {
      method: 'PATCH',
      body: { n: 3 },
    });
    expect(after.status).toBe(200);
    // By the least that a resumption leaves out, so that nothing is given out again if the end of the topic is lost.
    expect(Number(after.version) - Number(before.version)).toBeGreaterThan(2 ** 32 - 1000);
  } finally {
    await restored.stop();
  }
});
