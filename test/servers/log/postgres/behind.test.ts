/** Writes go on while the read model is behind the log in Postgres, because other processes append to it too. */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { setPlan } from '../../../../commands/plans.ts';
import { createTeam } from '../../../../commands/teams.ts';
import { openQueries } from '../../../../src/log/model.ts';
import { Projector } from '../../../../src/log/projector.ts';
import { PartitionWriter } from '../../../../src/log/postgres/partition-writer.ts';
import { PostgresLog } from '../../../../src/log/postgres/postgres-log.ts';
import { readProgressOf } from '../../../../src/log/progress/progress.store.ts';
import { createReadModel } from '../../../../src/log/read-model.ts';
import { models, readTablesSql } from '../../../../projections/models.ts';
import { Database } from '../../../../src/storage/database/database.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { Outcome } from '../../../../src/language/events/outcome.ts';
import { NotAppended } from '../../../../src/log/event-log.ts';
import { LogClock } from '../../../../src/log/log-clock.ts';
import { noLogObserver } from '../../../../src/log/log-observer.ts';
import { allPartitions, partitionCount, partitionOf } from '../../../../src/log/partition.ts';
import { PostgresReader } from '../../../../src/log/postgres/postgres-reader.ts';
import { resumeLog } from '../../../../src/log/resume.ts';
import { useReadModel } from '../../../support/read-model.ts';

const { database, url, closers } = useReadModel(partitionCount, 'file');
let log: PostgresLog;

/** A team of each partition. */
const teamIds = allPartitions(partitionCount).map((partition) => {
  for (;;) {
    const id = randomUUID();
    if (partitionOf(id, partitionCount) === partition) return id;
  }
});

async function openLog(through: Database): Promise<PostgresLog> {
  const opened = await PostgresLog.open(
    {
      database: through,
      projector: new Projector(models),
      partitions: partitionCount,
      logger: pino({ level: 'silent' }),
      queueEventsMax: 1000,
      queueBytesMax: 1_000_000,
      unknownWait: 1000,
    },
    new AbortController().signal,
  );
  closers.push(() => opened.close());
  return opened;
}

/** A log with another read model, as a process of another version has it. */
async function openOther(schema: string): Promise<{ readonly log: PostgresLog; readonly database: Database }> {
  const opened = await Database.open({ url: url(), schema });
  closers.push(() => opened.close());
  await createReadModel(readTablesSql, opened, partitionCount);
  return { log: await openLog(opened), database: opened };
}

function append(to: PostgresLog, teamId: string, data: Parameters<typeof encodeEvent>[1]): Promise<Outcome> {
  return to.append(
    partitionOf(teamId, partitionCount),
    encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data),
  );
}

const applied = { status: 'applied' };

beforeAll(async () => {
  log = await openLog(database());
  await Promise.all(teamIds.map((id) => append(log, id, createTeam(id, 'team'))));
});

test('when another process has appended to every partition, the next write to each is answered', async () => {
  const reader = await PostgresReader.open(url());
  closers.push(() => reader.close());
  for (let rowsMax = 1; rowsMax <= 3; rowsMax += 1) {
    await resumeLog(
      reader,
      teamIds.map(() => 1n),
    );
    const outcomes = await Promise.all(teamIds.map((id) => append(log, id, setPlan(id, { rowsMax }))));
    expect(outcomes.map(({ status }) => status)).toEqual(teamIds.map(() => 'applied'));
  }
});

test('what is more than one transaction should hold is projected in parts, under the lock of the head if others are faster', async () => {
  const other = await openOther('tablog_parts');
  const [teamId] = teamIds as [string];
  const partition = partitionOf(teamId, partitionCount);
  await other.log.close();
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 900 }, (_, rowsMax) => append(log, teamId, setPlan(teamId, { rowsMax }))));
  }
  let catchUps = 0;
  const writer = new PartitionWriter({
    partition,
    epoch: (await readProgressOf(other.database.pool, partition)).epoch,
    database: other.database,
    projector: new Projector(models),
    clock: new LogClock('Postgres'),
    // Others have appended as much again when it is done.
    catchUp: async () => void (catchUps += 1),
    onLanded: () => undefined,
    unknownWait: 1000,
    observer: noLogObserver,
  });
  const event = encodeEvent(
    { commandId: randomUUID(), notAfter: null, requestDigest: null },
    setPlan(teamId, { rowsMax: 7 }),
  );
  expect(await writer.append(event)).toMatchObject(applied);
  expect(catchUps).toBe(1);
});

test('the version that writes little is not overtaken by the one that writes much in the same partition', async () => {
  const other = await openOther('tablog_many');
  const [teamId] = teamIds as [string];
  const atOnce = 16;
  const wanted = 20;
  let isOver = false;
  let many = 0;
  const busy = Array.from({ length: atOnce }, async () => {
    while (!isOver) {
      expect(await append(log, teamId, setPlan(teamId, { rowsMax: 1 }))).toMatchObject(applied);
      many += 1;
    }
  });
  for (let few = 0; few < wanted; few += 1)
    expect(await append(other.log, teamId, setPlan(teamId, { rowsMax: 2 }))).toMatchObject(applied);
  isOver = true;
  await Promise.all(busy);
  // A batch of the one for each batch of the other, or a few more.
  expect(many).toBeLessThan(wanted * atOnce * 5);
});

test('what a process with another read model has acknowledged is there after the head was reached', async () => {
  const other = await openOther('tablog_head');
  const { teams } = openQueries(models, other.database);
  for (let round = 0; round < 40; round += 1) {
    const id = randomUUID();
    expect(await append(log, id, createTeam(id, `team ${round}`))).toMatchObject(applied);
    await other.log.reachHead(round % 2 === 0 ? partitionOf(id, partitionCount) : null);
    expect(await teams.team(id)).toMatchObject({ name: `team ${round}` });
  }
});

test('a process refuses a write when its log lacks events that are projected, because the log has moved to Kafka', async () => {
  const [teamId] = teamIds as [string];
  const project = (records: number): Promise<unknown> => {
    return database().pool.query('update progress set next = next + $2 where partition = $1', [
      partitionOf(teamId, partitionCount),
      records,
    ]);
  };
  await project(1);
  try {
    await expect(append(log, teamId, setPlan(teamId, { rowsMax: 1 }))).rejects.toThrow(NotAppended);
  } finally {
    await project(-1);
  }
  expect(await append(log, teamId, setPlan(teamId, { rowsMax: 2 }))).toMatchObject(applied);
});
