/**
 * Local keys that are given out a second time, as after Postgres lost commits and with them the end of the sequence:
 * nothing that is stored under them changes, and the events are applied with other keys.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { PartitionProjection } from '../../../src/log/kafka/partition-projection.ts';
import { PostgresLog } from '../../../src/log/postgres/postgres-log.ts';
import { projectBatch } from '../../../src/log/project-records.ts';
import { readProgressOf } from '../../../src/log/progress/progress.store.ts';
import { Projector } from '../../../src/log/projector.ts';
import { models } from '../../../projections/models.ts';
import type { EncodedEvent } from '../../../src/language/events/event.ts';
import type { Outcome } from '../../../src/language/events/outcome.ts';
import type { LogRecord } from '../../../src/log/event-log.ts';
import { JsonRowReader } from '../../../src/language/formats/json-row-reader.ts';
import { partitionCount } from '../../../src/log/partition.ts';
import { DrivenTeam, type DecidingLog } from '../../replay/driven-team.ts';
import { openOperator } from '../../support/open-operator.ts';
import { useReadModel } from '../../support/read-model.ts';

const row = '{"n":1,"a":"x"}';
const rowWithId = `{"$rowID":"AAAAAAAAAAUAAAAAAAAAAA",${row.slice(1)}`;

const { url, database, closers } = useReadModel(partitionCount, 'test');

const keyedTables = [
  'extents',
  'segments',
  'segment_rows',
  'retained_ids',
  'changes',
  'stashes',
  'chunk_blocks',
  'file_references',
];

/** All that is stored under local keys. */
async function stored(): Promise<readonly string[]> {
  const rows = keyedTables
    .map((table) => `select '${table} ' || to_jsonb(${table})::text as row from ${table}`)
    .join(' union all ');
  return (await database().pool.query<{ row: string }>(rows)).rows.map((found) => found.row);
}

/** From now on processes reserve the keys that the first ones had. */
async function takeSequenceBack(): Promise<void> {
  await database().pool.query(`select setval('local_keys', 1, false)`);
}

/** Appends events one after the other to a log in Postgres, as a process does that was just started. */
async function appending(): Promise<DecidingLog> {
  const engine = await PostgresLog.open(
    {
      database: database(),
      projector: new Projector(models),
      partitions: partitionCount,
      logger: pino({ level: 'silent' }),
      queueEventsMax: 1000,
      queueBytesMax: 1_000_000,
      unknownWait: 1000,
    },
    new AbortController().signal,
  );
  closers.push(() => engine.close());
  return {
    database: database(),
    project: async (partition, _time, events) => {
      const outcomes: Outcome[] = [];
      for (const event of events) outcomes.push(await engine.append(partition, event));
      return outcomes;
    },
  };
}

/**
 * Projects events as records that follow the progress, as a process does that was just started: one after the other,
 * decided ahead.
 */
async function projecting(): Promise<DecidingLog> {
  const projector = new Projector(models);
  return {
    database: database(),
    project: async (partition, time, events) => {
      const position = await readProgressOf(database().pool, partition);
      const outcomes = new Map<string, Outcome>();
      let arrived = Promise.withResolvers<void>();
      const projection = new PartitionProjection({
        partition,
        position,
        database: database(),
        projector,
        withNotification: async (_records, _outcomes, store) => {
          await store(null);
          return false;
        },
        onProjected: (_records, projected) => {
          for (const [commandId, outcome] of projected?.outcomes ?? []) outcomes.set(commandId, outcome);
          arrived.resolve();
        },
        onLost: () => arrived.reject(new Error('lost')),
        onHalted: (_offset, error) => arrived.reject(error),
      });
      for (const [at, { bytes }] of events.entries()) {
        arrived = Promise.withResolvers();
        projection.offer([{ partition, offset: position.next + BigInt(at), time, bytes }]);
        await arrived.promise;
      }
      await projection.close();
      return events.map(({ commandId }) => outcomes.get(commandId)!);
    },
  };
}

/** The same in one batch, as a replay does. */
async function replaying(): Promise<DecidingLog> {
  const projector = new Projector(models);
  return {
    database: database(),
    project: async (partition, time, events) => {
      const { next } = await readProgressOf(database().pool, partition);
      const records = events.map(({ bytes }, at): LogRecord => ({ partition, offset: next + BigInt(at), time, bytes }));
      const { outcomes } = await projectBatch({ database: database(), projector, partition, epoch: 0n }, records);
      return events.map(({ commandId }) => outcomes.get(commandId)!);
    },
  };
}

interface Case {
  readonly what: string;
  readonly events: (team: DrivenTeam, tableId: string) => Promise<readonly EncodedEvent[]>;
  /** How many rows the events add. */
  readonly rows: number;
}

const cases: readonly Case[] = [
  {
    what: 'an extent of a segment that is stored already',
    rows: 1,
    events: async (team, tableId) => [team.importing(tableId, 'stash')],
  },
  { what: 'a tail', rows: 2, events: async (team) => [await team.creatingTable(randomUUID(), row, row)] },
  { what: 'a segment', rows: 2, events: async (team, tableId) => [await team.adding(tableId, 'block', [row, row])] },
  {
    what: 'a segment with row IDs',
    rows: 1,
    events: async (team, tableId) => [await team.adding(tableId, 'block', [rowWithId])],
  },
  {
    what: 'a stash',
    rows: 1,
    events: async (team, tableId) => {
      const name = randomUUID();
      return [await team.puttingChunk(name, [row]), team.importing(tableId, name)];
    },
  },
];

/** So often each event comes, to meet keys of every kind. */
const times = 15;

describe.each([
  ['appended', appending],
  ['projected', projecting],
  ['replayed', replaying],
] as const)('when its event is %s', (_, start) => {
  test.each(cases)('$what takes no key of another thing', async ({ events, rows }) => {
    const first = await start();
    const team = await DrivenTeam.create(first, 1);
    await team.chunk('of the team', row);
    for (let tables = 0; tables < 3; tables += 1) {
      const tableId = await team.table(row, row);
      await team.patch(tableId, await team.add(tableId, 'block', row, rowWithId), '{"n":2}');
      await team.add(tableId, 'few', row);
    }
    const other = await DrivenTeam.create(first, 2);
    await other.chunk('stash', row);
    const tableId = await other.table();
    const before = await stored();

    await takeSequenceBack();
    const later = await start();
    // The first batches of a process are not decided ahead; those behind them are.
    const given = [await other.creatingTable(randomUUID()), await other.creatingTable(randomUUID())];
    for (let time = 0; time < times; time += 1) given.push(...(await events(other, tableId)));
    const outcomes = await later.project(2, 1, given);

    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'applied'));
    expect(await stored()).toEqual(expect.arrayContaining([...before]));
    const {
      rows: [found],
    } = await database().pool.query(
      'select sum(extents.rows)::int as rows from extents join tables on tables.id = table_id where team_id = $1',
      [other.id],
    );
    expect(found.rows).toBe(rows * times);
  });
});

test('a segment that is written ahead of its event adds nothing to another segment', async () => {
  const writeAhead = async (...rows: readonly string[]): Promise<void> => {
    const service = await openOperator({ DATABASE_URL: url() });
    closers.push(() => service.close());
    const reader = new JsonRowReader({ form: 'rows', retainIds: true });
    const blocks = [...reader.push(Buffer.from(`[${rows.join(',')}]`)), ...reader.end().blocks];
    await service.writeAhead(randomUUID(), randomUUID(), blocks[0]!);
  };
  await writeAhead(row, row);
  const before = await stored();
  await takeSequenceBack();
  await writeAhead(row, rowWithId);
  const after = await stored();
  expect(after).toEqual(expect.arrayContaining([...before]));
  const added = after.filter((each) => !before.includes(each)).map((each) => each.split(' ', 1)[0]);
  expect(added.toSorted()).toEqual(['retained_ids', 'segment_rows', 'segment_rows', 'segments']);
  const { rows: keys } = await database().pool.query(
    'select key from segments union select segment from segment_rows union select segment from retained_ids',
  );
  expect(keys).toHaveLength(2);
});
