/** What a move refuses, to others and to itself, while the log is closed and before. */
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { closeToKafka } from '../../src/log/progress/closed.store.ts';
import { noteContradicted, takeOverPartition } from '../../src/log/progress/progress.store.ts';
import { readModelSchema } from '../../projections/models.ts';
import { moveLog, type Moved, type MoveOptions } from '../../src/administration/move-log.ts';
import { readConfig, type Config } from '../../src/app/config.ts';
import { LogPlaceWatch } from '../../src/app/log-place-watch.ts';
import { openCopyTarget, openOrCreateRecords } from '../../src/app/open-log.ts';
import { ReadModelUse } from '../../src/log/read-model-use.ts';
import { advisoryLocks } from '../../src/storage/database/advisory-locks.ts';
import { isAnotherReadModelUsed } from '../../src/storage/database/held-locks.ts';
import { inTransaction } from '../../src/storage/database/transaction.ts';
import type { RecordLog } from '../../src/log/event-log.ts';
import { partitionCount } from '../../src/log/partition.ts';
import {
  closePostgresLog,
  LogMoved,
  prepareMoves,
  readMoves,
  rememberMoves,
  type LogKind,
} from '../../src/log/postgres/log-place.ts';
import { replay } from '../../src/operations/replay/replay.ts';
import { createLog } from '../support/deployment-kind.ts';
import { useReadModel } from '../support/read-model.ts';

const { url, database, closers } = useReadModel(partitionCount, 'test');
const logger = pino({ level: 'silent' });
const kinds: LogKind[] = ['postgres', 'kafka'];
const closed = { code: 'TL001' };

/** Both logs, empty, with the settings that name them. */
async function openLogs(): Promise<{
  readonly logs: Readonly<Record<LogKind, RecordLog>>;
  readonly config: Readonly<Record<LogKind, Config>>;
}> {
  const { environment, drop } = await createLog('kafka');
  closers.push(drop);
  const config = {
    postgres: readConfig({ DATABASE_URL: url() }),
    kafka: readConfig({ ...environment, DATABASE_URL: url() }),
  };
  const open = async (kind: LogKind): Promise<RecordLog> => {
    const log = await openCopyTarget(config[kind], url(), logger);
    closers.push(() => log.close());
    return log;
  };
  await prepareMoves(database().pool, partitionCount);
  return { logs: { postgres: await open('postgres'), kafka: await open('kafka') }, config };
}

async function move(to: LogKind, logs: MoveOptions['openLogs'], signal = new AbortController().signal): Promise<Moved> {
  return moveLog({ database: database(), openLogs: logs, to, signal, onProgress: () => undefined });
}

/** Does what a process does that appends to this log, without appending anything. */
const use: Readonly<Record<LogKind, () => Promise<unknown>>> = {
  postgres: () => database().pool.query('insert into tablog_log.records select * from tablog_log.records where false'),
  kafka: () => takeOverPartition(database().pool, 3),
};

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url() });
  await client.connect();
  closers.push(() => client.end());
  return client;
}

test.each(kinds)(
  'a log in %s that a killed move left closed is opened by the next one, although the brokers are away',
  async (from) => {
    const { pool } = database();
    await prepareMoves(pool, partitionCount);
    await inTransaction(pool, from === 'postgres' ? closePostgresLog : closeToKafka);
    await expect(use[from]()).rejects.toMatchObject(closed);
    await expect(
      move(from === 'postgres' ? 'kafka' : 'postgres', () => Promise.reject(new Error('the brokers are away'))),
    ).rejects.toThrow('the brokers are away');
    await use[from]();
  },
);

test.each(kinds)('no process begins with the other log once a log in %s is being copied', async (from) => {
  const { logs, config } = await openLogs();
  const to = from === 'postgres' ? 'kafka' : 'postgres';
  const interrupted = new AbortController();
  interrupted.abort(new Error('interrupted'));
  await expect(move(to, async () => logs, interrupted.signal)).rejects.toThrow('interrupted');
  await expect(openOrCreateRecords(config[to], database(), url(), logger)).rejects.toThrow(
    `the log is in ${from === 'kafka' ? 'Kafka' : 'Postgres'}`,
  );
  await (await openOrCreateRecords(config[from], database(), url(), logger)).close();
});

test('in a log that has moved to Postgres, who still reads Kafka takes over and marks nothing, after a replay too', async () => {
  const { logs } = await openLogs();
  await move('postgres', async () => logs);
  const expectRefused = async (): Promise<void> => {
    await expect(use.kafka()).rejects.toMatchObject(closed);
    await expect(noteContradicted(database().pool, 3, 'it is too short')).rejects.toMatchObject(closed);
    await use.postgres();
  };
  await expectRefused();
  await replay({
    url: url(),
    log: logs.postgres,
    batchEvents: 500,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  await expectRefused();
  await move('kafka', async () => logs);
  await use.kafka();
  await expect(use.postgres()).rejects.toMatchObject(closed);
});

test('a process that missed a move of the log, and the one back, is told, and takes no partition over', async () => {
  const { logs } = await openLogs();
  const { pool } = database();
  const isKnown = await rememberMoves(pool);
  const movesBefore = await readMoves(pool);
  await isKnown();
  await move('postgres', async () => logs);
  await move('kafka', async () => logs);
  const watch = new LogPlaceWatch(pool, 'kafka', movesBefore);
  closers.push(() => watch.close());
  await expect(isKnown()).rejects.toThrow(LogMoved);
  expect(await new Promise((resolve) => watch.onMoved(resolve))).toContain('the log is in Kafka');
  await (
    await rememberMoves(pool)
  )();
});

test('a log that an earlier version moved counts as never moved, until it moves again', async () => {
  const { pool } = database();
  await prepareMoves(pool, partitionCount);
  await pool.query(
    `insert into tablog_log.place (log) values ('postgres'); alter table tablog_log.place drop column moves`,
  );
  expect(await readMoves(pool)).toBe('0');
  const isKnown = await rememberMoves(pool);
  const { logs } = await openLogs();
  await isKnown();
  await move('kafka', async () => logs);
  await expect(isKnown()).rejects.toThrow(LogMoved);
});

test('it waits for no transaction that reads', async () => {
  const { logs } = await openLogs();
  const reader = await connect();
  await reader.query(
    `begin isolation level repeatable read; select from tablog_log.records; select from ${readModelSchema}.progress`,
  );
  await move('postgres', async () => logs);
  await move('kafka', async () => logs);
  await move('postgres', async () => logs);
});

test('a log stays in Kafka while processes use another read model, and in either place while a replay runs', async () => {
  const { logs } = await openLogs();
  const own = await ReadModelUse.share(url(), readModelSchema);
  closers.push(() => own.end());
  const other = await connect();
  await other.query(`select pg_advisory_lock_shared($1, hashtext('tablog_1'))`, [advisoryLocks.usesReadModel]);
  await expect(move('postgres', async () => logs)).rejects.toThrow('use another read model');
  await use.kafka();
  await other.query('select pg_advisory_unlock_all()');
  const rebuilding = await connect();
  await rebuilding.query('select pg_advisory_lock($1)', [advisoryLocks.replaceReadModel]);
  await expect(move('postgres', async () => logs)).rejects.toThrow('a replay is running');
  await use.kafka();
  await rebuilding.query('select pg_advisory_unlock_all()');
  await move('postgres', async () => logs);
});

test('another read model is one of any other name, or of none', async () => {
  const [client, user] = [await connect(), await connect()];
  const names = Array.from({ length: 20 }, (_, n) => `tablog_${n}`);
  const { rows } = await client.query<{ negative: boolean }>(
    'select distinct hashtext(name) < 0 as negative from unnest($1::text[]) name',
    [names],
  );
  expect(rows).toHaveLength(2);
  for (const [n, name] of names.entries()) {
    await user.query('select pg_advisory_lock_shared($1, hashtext($2))', [advisoryLocks.usesReadModel, name]);
    expect([
      name,
      await isAnotherReadModelUsed(client, name),
      await isAnotherReadModelUsed(client, names[(n + 1) % names.length]!),
    ]).toEqual([name, false, true]);
    await user.query('select pg_advisory_unlock_all()');
  }
  await user.query('select pg_advisory_lock_shared($1)', [advisoryLocks.useReadModel]);
  expect(await isAnotherReadModelUsed(client, 'tablog_1')).toBe(true);
});
