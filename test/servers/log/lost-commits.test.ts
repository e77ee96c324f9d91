/**
 * Postgres loses commits and others write on to the same offset: what a process remembers of the lost events is not
 * taken for what is stored.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PartitionProjection } from '../../../src/log/kafka/partition-projection.ts';
import { listModels } from '../../../src/log/model.ts';
import { PartitionWriter } from '../../../src/log/postgres/partition-writer.ts';
import { readProgressOf } from '../../../src/log/progress/progress.store.ts';
import { Projector } from '../../../src/log/projector.ts';
import { createReadModel, tablesSqlOf } from '../../../src/log/read-model.ts';
import { Database } from '../../../src/storage/database/database.ts';
import { encodeEvent } from '../../../src/language/events/event-codec.ts';
import type { EventData } from '../../../src/language/events/event.ts';
import { LogClock } from '../../../src/log/log-clock.ts';
import { noLogObserver } from '../../../src/log/log-observer.ts';
import { createLogTables, logSchema } from '../../../src/log/postgres/log-tables.ts';
import { createDatabase } from '../../support/postgres.ts';
import { toyModels } from './counter-model.ts';

const partition = 0;
const models = listModels(toyModels);
const [mine, other] = [randomUUID(), randomUUID()];
const closers: (() => Promise<unknown>)[] = [];
let database: Database;

beforeEach(async () => {
  const created = await createDatabase();
  closers.push(() => created.drop());
  database = await Database.open({ url: created.url, schema: 'counted' });
  closers.push(() => database.close());
  await createReadModel(() => tablesSqlOf(models), database, 1);
  await createLogTables(database.pool, 1);
});

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/** Projects an event, and settles when it is stored. */
type Project = (data: EventData) => Promise<void>;

const bytesOf = (data: EventData): ReturnType<typeof encodeEvent> =>
  encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data);

/** A process with the log in Postgres. */
async function writing(): Promise<Project> {
  const writer = new PartitionWriter({
    epoch: 0n,
    partition,
    database,
    projector: new Projector(models),
    clock: new LogClock('Postgres'),
    catchUp: async () => undefined,
    onLanded: () => undefined,
    unknownWait: 1000,
    observer: noLogObserver,
  });
  closers.push(() => writer.idle());
  return async (data) => {
    await writer.append(bytesOf(data));
    await writer.idle();
  };
}

/**
 * A process that projects a log in Kafka. It takes the record of each event for the one that follows what it has
 * projected.
 */
async function projecting(): Promise<Project> {
  const position = await readProgressOf(database.pool, partition);
  let { next } = position;
  let projected = Promise.withResolvers<void>();
  const projection = new PartitionProjection({
    partition,
    position,
    database,
    projector: new Projector(models),
    withNotification: async (_records, _outcomes, store) => {
      await store(null);
      return false;
    },
    onProjected: () => projected.resolve(),
    onLost: () => projected.reject(new Error('the partition was lost')),
    onHalted: (_offset, error) => projected.reject(error),
  });
  closers.push(() => projection.close());
  return async (data) => {
    projected = Promise.withResolvers();
    projection.offer([{ partition, offset: next, time: 1, bytes: bytesOf(data).bytes }]);
    next += 1n;
    await projected.promise;
  };
}

const tables = ['progress', 'counters', 'outcomes', `${logSchema}.heads`, `${logSchema}.records`];

/** Notes what is stored; the result goes back to that. */
async function backup(): Promise<() => Promise<void>> {
  for (const [at, table] of tables.entries()) await database.pool.query(`create table backup_${at} as table ${table}`);
  return async () => {
    for (const [at, table] of tables.entries())
      await database.pool.query(`truncate ${table}; insert into ${table} table backup_${at}`);
  };
}

const created = (teamId: string): EventData => ({ type: 'TeamCreated', teamId, name: 'counted' });
const counted = (teamId: string): EventData => ({ type: 'TeamSuspended', teamId });

test.each([
  ['writes a log in Postgres', writing],
  ['projects a log in Kafka', projecting],
])('when a process %s', async (_name, start) => {
  const project = await start();
  // Those behind the first event are decided ahead, on what is remembered.
  for (const event of [created(mine), created(other), counted(other)]) await project(event);
  const restore = await backup();
  await project(counted(mine));
  await restore();
  const another = await start();
  await another(counted(other));
  await project(counted(mine));
  const { rows } = await database.pool.query('select team_id, count from counters');
  expect(rows).toEqual(
    expect.arrayContaining([
      { team_id: mine, count: 2 },
      { team_id: other, count: 3 },
    ]),
  );
});
