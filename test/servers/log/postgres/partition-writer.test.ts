/** How the log in Postgres writes: at once, by what it knows, or with the head locked first. */
import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { setPlan } from '../../../../commands/plans.ts';
import { createTeam } from '../../../../commands/teams.ts';
import { Projector } from '../../../../src/log/projector.ts';
import { models } from '../../../../projections/models.ts';
import type { Database } from '../../../../src/storage/database/database.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import { AppendUnknown, type EventLog } from '../../../../src/log/event-log.ts';
import { noLogObserver } from '../../../../src/log/log-observer.ts';
import { partitionCount, partitionOf } from '../../../../src/log/partition.ts';
import { PostgresLog } from '../../../../src/log/postgres/postgres-log.ts';
import { interceptWriters } from '../../../support/intercepted-writers.ts';
import { useReadModel } from '../../../support/read-model.ts';

const teamId = randomUUID();
const partition = partitionOf(teamId, partitionCount);
const { database, closers } = useReadModel(partitionCount, 'file');
let log: EventLog;
let locks = 0;

function openLog(through: Database): Promise<EventLog> {
  return PostgresLog.open(
    {
      database: through,
      projector: new Projector(models),
      partitions: partitionCount,
      logger: pino({ level: 'silent' }),
      observer: noLogObserver,
      queueEventsMax: 1000,
      queueBytesMax: 1_000_000,
      unknownWait: 1000,
    },
    new AbortController().signal,
  );
}

/** The database, telling each time that a head is locked. */
function counting(opened: Database): Database {
  return interceptWriters(opened, ({ name }, send) => {
    if (name === 'lock_head') locks += 1;
    return send();
  });
}

beforeAll(async () => {
  log = await openLog(counting(database()));
  closers.push(() => log.close());
  await append(createTeam(teamId, 'writer'));
  await settle();
});

beforeEach(() => {
  locks = 0;
});

const append = (data: Parameters<typeof encodeEvent>[1], to = log): ReturnType<EventLog['append']> => {
  return to.append(partition, encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data));
};

/** Appends one event after the other, and gives how many batches locked the head for them. */
async function locksOf(count: number): Promise<number> {
  const before = locks;
  for (let rowsMax = 1; rowsMax <= count; rowsMax += 1) {
    expect(await append(setPlan(teamId, { rowsMax }))).toMatchObject({ status: 'applied' });
  }
  return locks - before;
}

/** Appends until nothing is cautious any more. */
async function settle(): Promise<void> {
  await locksOf(30);
}

test('while nobody else writes no head is locked', async () => {
  expect(await locksOf(5)).toBe(0);
});

test('after rows were moved one batch is decided anew, and those behind it go on as before', async () => {
  await database().pool.query('update progress set layout = layout + 1 where partition = $1', [partition]);
  expect(await locksOf(10)).toBe(1);
});

test('a backend that goes on after its connection broke is asked about now and then, until nobody can tell', async () => {
  let [breaks, asks] = [false, 0];
  const broken = interceptWriters(database(), ({ name, text }, send) => {
    if (name === 'end_backend') {
      asks += 1;
      return Promise.resolve({ rows: [{ ended: false }], rowCount: 1, command: 'SELECT' });
    }
    if (!breaks || !text.includes('update tablog_log.heads')) return send();
    breaks = false;
    return send().then(() => Promise.reject(new Error('Connection terminated unexpectedly')));
  });
  const writing = await openLog(broken);
  for (let rowsMax = 1; rowsMax < 5; rowsMax += 1) await append(setPlan(teamId, { rowsMax }), writing);
  breaks = true;
  await expect(append(setPlan(teamId, { rowsMax: 5 }), writing)).rejects.toThrow(AppendUnknown);
  await writing.close();
  expect(asks).toBeGreaterThan(0);
  // In a second.
  expect(asks).toBeLessThanOrEqual(6);
  await settle();
});

test('after another process wrote the head is locked for a while', async () => {
  const other = await openLog(database());
  await append(setPlan(teamId, { rowsMax: 7 }), other);
  await other.close();
  const held = await locksOf(10);
  expect(held).toBeGreaterThanOrEqual(10);
  await settle();
  expect(await locksOf(5)).toBe(0);
});

test('an event that needs what is stored takes the lock with its batch, and those behind it go on as before', async () => {
  const before = locks;
  expect(await append({ type: 'UploadChecked', teamId, uploadId: randomUUID() })).toMatchObject({ status: 'applied' });
  expect(locks - before).toBe(1);
  expect(await locksOf(5)).toBe(0);
});
