/** A team with an event that cannot be projected is held alone, and comes to the same when it is released. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { compareReadModels } from '../../projections/engine/compare/compare.ts';
import { Snapshot } from '../../projections/engine/compare/snapshot.ts';
import type { Decided } from '../../projections/engine/decided.ts';
import { PartitionProjection } from '../../projections/engine/kafka/partition-projection.ts';
import { listModels } from '../../projections/engine/model.ts';
import { readProgressOf } from '../../projections/engine/progress/progress.store.ts';
import { projectRecords, type ProjectionListener } from '../../projections/engine/project-records.ts';
import { ProgressMoved, Projector, quarantinesMax } from '../../projections/engine/projector.ts';
import { createReadModel, openDatabase } from '../../projections/engine/read-model.ts';
import { readQuarantines } from '../../projections/engine/quarantine/quarantine.store.ts';
import { releaseTeam } from '../../projections/engine/quarantine/release.ts';
import { listenerOf } from '../../projections/engine/projection-listener.ts';
import type { Database } from '../../src/database/database.ts';
import { encodeEvent } from '../../src/events/event-codec.ts';
import type { EventData } from '../../src/events/event.ts';
import type { LogRecord } from '../../src/log/event-log.ts';
import { createDatabase } from '../support/postgres.ts';
import { fc, uncut } from '../support/property.ts';
import { toyModels } from './counter-model.ts';
import { plantFault } from './planted-fault.ts';

const partition = 0;
const models = listModels(toyModels);
const closers: (() => Promise<unknown>)[] = [];
const neverAborted = new AbortController().signal;
let url: string;
let schemas = 0;

beforeAll(async () => {
  const created = await createDatabase();
  closers.push(() => created.drop());
  ({ url } = created);
});

afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

/** An empty read model in a schema of its own. */
async function newReadModel(queryTimeout?: number): Promise<Database> {
  schemas += 1;
  const made = await openDatabase(models, { url, schema: `quarantine_${schemas}`, synchronousCommit: false, ...(queryTimeout === undefined ? {} : { queryTimeout }) });
  closers.push(() => made.close());
  await createReadModel(models, made, 1);
  return made;
}

const teams = Array.from({ length: 3 }, () => randomUUID()).toSorted();

/** The number is that of a team, or, in thousands, the base of a LogResumed; a command that comes again has a number of its own. */
type Step = readonly [type: 'TeamCreated' | 'TeamSuspended' | 'LogResumed', number: number, repeated?: number];

const repeated = Array.from({ length: 3 }, () => randomUUID());

function recordsOf(steps: readonly Step[], start = 0): LogRecord[] {
  return steps.map(([type, number, command], at) => {
    const teamId = teams[number]!;
    const data: EventData = type === 'LogResumed' ? { type, base: BigInt(number) * 1000n } : type === 'TeamCreated' ? { type, teamId, name: 'counted' } : { type, teamId };
    // The ID of a command is made of its team.
    const commandId = command === undefined || type !== 'TeamSuspended' ? randomUUID() : repeated[number]!;
    const { bytes } = encodeEvent({ commandId, notAfter: null, requestDigest: null }, data);
    return { partition, offset: BigInt(start + at), time: 1000 + (at - (at % 3)), bytes };
  });
}

/** Projects records in batches of these sizes; the last size repeats. */
async function project(where: Database, records: readonly LogRecord[], sizes: readonly number[], listener?: ProjectionListener): Promise<Decided[]> {
  const projector = new Projector(models);
  const decided: Decided[] = [];
  const left = [...records];
  for (let at = 0; left.length > 0; at += 1) {
    const batch = left.splice(0, sizes[Math.min(at, sizes.length - 1)]);
    for (let todo = batch; todo.length > 0;) {
      try {
        await projectRecords({ database: where, projector, partition, epoch: 0n, ...(listener === undefined ? {} : { listener }) }, todo, (_, one) => decided.push(one));
      } catch (error) {
        // A release has ended meanwhile.
        if (!(error instanceof ProgressMoved)) throw error;
      }
      const { next } = await readProgressOf(where.pool, partition);
      todo = todo.filter(({ offset }) => offset >= next);
    }
  }
  return decided;
}

/** A log of these records, which are read a few at a time. Some have a time of a broker whose clock is slow: the log's time never falls. */
function logOf(records: readonly LogRecord[], atOnce = 3): Parameters<typeof releaseTeam>[1]['log'] {
  return {
    read: async function* read(_partition, from, to) {
      for (let next = from; next < to; next += BigInt(atOnce)) {
        const read = records.filter(({ offset }) => offset >= next && offset < next + BigInt(atOnce) && offset < to);
        yield read.map((record) => (record.time === timeBefore(record, records) ? { ...record, time: record.time - 500 } : record));
      }
    },
  };
}

function timeBefore({ offset }: LogRecord, records: readonly LogRecord[]): number | undefined {
  return records.find((other) => other.offset === offset - 1n)?.time;
}

/** Resolves to the offsets from which it read. `meanwhile`: happens before its transactions, which are numbered from 1. */
async function release(where: Database, records: readonly LogRecord[], team: number, meanwhile?: (transaction: number) => Promise<void>): Promise<bigint[]> {
  const readFrom: bigint[] = [];
  const { read } = logOf(records);
  let transactions = 0;
  const writers: Pick<Database['writers'], 'with'> = {
    with: async (use) => {
      transactions += 1;
      await meanwhile?.(transactions);
      return where.writers.with(use);
    },
  };
  await releaseTeam(teams[team]!, {
    database: { pool: where.pool, writers: writers as Database['writers'] }, projector: new Projector(models), onProgress: () => undefined, signal: neverAborted,
    log: {
      read: (of, from, to) => {
        readFrom.push(from);
        return read(of, from, to);
      },
    },
  });
  return readFrom;
}

async function differencesBetween(...both: readonly [Database, Database]): Promise<readonly unknown[]> {
  const snapshots = await Promise.all(both.map(({ schema }) => Snapshot.open(url, schema)));
  const { differences } = await compareReadModels(models, (compare) => compare(snapshots[0]!, snapshots[1]!));
  await Promise.all(snapshots.map((snapshot) => snapshot.close()));
  return differences;
}

async function counts(where: Database): Promise<Record<string, number>> {
  const { rows } = await where.pool.query<{ team_id: string; count: number }>('select team_id, count from counters');
  return Object.fromEntries(rows.map(({ team_id: id, count }) => [id, count]));
}

const anyStep = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constantFrom('TeamCreated' as const, 'TeamSuspended' as const, 'TeamSuspended' as const), fc.integer({ min: 0, max: 2 }), fc.option(fc.constant(0), { nil: undefined })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('LogResumed' as const), fc.integer({ min: 1, max: 5 })) },
);

test('what is held and released comes to what it would have come to at once, wherever the fault began and ended', async () => {
  let held = 0;
  await fc.assert(fc.asyncProperty(
    fc.array(anyStep, { minLength: 5, maxLength: 40 }), fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
    fc.nat(), fc.nat(), fc.uniqueArray(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 2 }),
    async (steps, sizes, from, to, faulty) => {
      const records = recordsOf(steps as Step[]);
      const [began, ended] = [from % records.length, to % records.length].toSorted((a, b) => a - b) as [number, number];
      const [whole, cut] = [await newReadModel(), await newReadModel()];
      await project(whole, records, [records.length]);

      await project(cut, records.slice(0, began), sizes);
      const faults = await Promise.all(faulty.map((team) => plantFault(cut, teams[team]!)));
      await project(cut, records.slice(began, ended), sizes);
      held += (await readQuarantines(cut.pool)).length;
      for (const fault of faults) await fault.repair();
      // One is released at once, the other while more is projected, and both at the same time as themselves.
      await Promise.all([release(cut, records, faulty[0]!), release(cut, records, faulty[0]!)]);
      await Promise.all([project(cut, records.slice(ended), sizes), release(cut, records, faulty.at(-1)!)]);
      await release(cut, records, faulty.at(-1)!);

      expect(await readQuarantines(cut.pool)).toEqual([]);
      expect(await differencesBetween(whole, cut)).toEqual([]);
      for (const each of [whole, cut]) await each.pool.query(`drop schema ${each.schema} cascade`);
    },
  ), { ...uncut, numRuns: 12 });
  expect(held).toBeGreaterThan(0);
}, 60_000);

describe('an event that cannot be projected', () => {
  const steps: Step[] = [['TeamCreated', 0], ['TeamCreated', 1], ['TeamSuspended', 0], ['TeamSuspended', 1], ['TeamSuspended', 0], ['TeamSuspended', 1]];

  test.each([[[6]], [[1]], [[2, 3, 1]]])('holds its team from there on, and nobody else; in batches of %j', async (sizes) => {
    const database = await newReadModel();
    const records = recordsOf(steps);
    await project(database, records.slice(0, 2), sizes);
    await plantFault(database, teams[0]!);
    const decided = await project(database, records.slice(2), sizes);
    expect(await counts(database)).toEqual({ [teams[0]!]: 1, [teams[1]!]: 3 });
    expect(decided.reduce((sum, { held }) => sum + held.size, 0)).toBe(2);
    expect(decided.reduce((sum, { outcomes }) => sum + outcomes.size, 0)).toBe(2);
    expect(await readQuarantines(database.pool)).toEqual([expect.objectContaining({
      teamId: teams[0], partition, failedOffset: 2n, next: 2n, since: 1000, reason: expect.stringContaining('planted'),
    })]);
    const { next, held } = await readProgressOf(database.pool, partition);
    expect(next).toBe(6n);
    expect([...held.since]).toEqual([[teams[0], 1000]]);
  });

  test('a release that meets another one stops there, and the next goes on', async () => {
    const database = await newReadModel();
    const records = recordsOf([...steps, ['TeamSuspended', 0]]);
    await project(database, records.slice(0, 2), [2]);
    const first = await plantFault(database, teams[0]!);
    await project(database, records.slice(2), [2]);
    await first.repair();
    const second = await plantFault(database, teams[0]!, 'new.count >= 3');
    await expect(release(database, records, 0)).rejects.toMatchObject({ name: 'ReleaseFailed', offset: 4n, message: expect.stringContaining('planted') });
    expect(await counts(database)).toEqual({ [teams[0]!]: 2, [teams[1]!]: 3 });
    expect(await readQuarantines(database.pool)).toEqual([expect.objectContaining({
      failedOffset: 4n, next: 4n, since: 1000, reason: expect.stringContaining('planted'),
    })]);
    await second.repair();
    await release(database, records, 0);
    expect(await counts(database)).toEqual({ [teams[0]!]: 4, [teams[1]!]: 3 });
  });

  describe('and another one of the team, once it was released', () => {
    const again = recordsOf([...steps, ['TeamSuspended', 0], ['TeamSuspended', 1]]);

    /** Two events are held; the result lets the team go on as another operator would, and holds it again from a later event on. */
    async function holdTwice(database: Database): Promise<{ readonly hold: () => Promise<void>; readonly repair: () => Promise<void> }> {
      await project(database, again.slice(0, 2), [2]);
      const first = await plantFault(database, teams[0]!);
      await project(database, again.slice(2, 6), [4]);
      let second = first;
      return {
        repair: () => second.repair(),
        hold: async () => {
          await first.repair();
          await release(database, again, 0);
          second = await plantFault(database, teams[0]!);
          await project(database, again.slice(6), [2]);
        },
      };
    }

    test('is released from where it is, also by a release that began before', async () => {
      const [whole, database] = [await newReadModel(), await newReadModel()];
      await project(whole, again, [8]);
      const { hold, repair } = await holdTwice(database);
      const readFrom = await release(database, again, 0, async (transaction) => {
        if (transaction > 1) return;
        await hold();
        await repair();
      });
      expect(readFrom).toEqual([6n]);
      expect(await readQuarantines(database.pool)).toEqual([]);
      expect(await differencesBetween(whole, database)).toEqual([]);
    });

    test('is not blamed on the event at which a release failed that began before', async () => {
      const database = await newReadModel();
      const { hold } = await holdTwice(database);
      // The whole, in one transaction and in another, its first event alone, and the note that this failed.
      const failing = release(database, again, 0, async (transaction) => (transaction === 4 ? hold() : undefined));
      await expect(failing).rejects.toMatchObject({ name: 'ReleaseFailed', offset: 2n, message: expect.stringContaining('planted') });
      expect(await readQuarantines(database.pool)).toEqual([expect.objectContaining({ failedOffset: 6n, next: 6n })]);
    });
  });

  test('is released in a read model that took the place of another one meanwhile, with local keys of that only', async () => {
    const records = recordsOf([['TeamCreated', 1], ['TeamCreated', 0], ...steps.slice(2)]);
    const [whole, serving, rebuilt] = [await newReadModel(), await newReadModel(), await newReadModel()];
    await project(whole, records, [6]);
    // The keys that the old one has given are others than those of the new one.
    await serving.pool.query(`select setval('local_keys', 1000001)`);
    for (const each of [serving, rebuilt]) {
      const fault = await plantFault(each, teams[0]!);
      await project(each, records, [6]);
      await fault.repair();
    }
    // The last event fails in the old one, so that those before are released alone.
    await plantFault(serving, teams[0]!, 'new.count >= 3');
    let isReplaced = false;
    await release(serving, records, 0, async () => {
      if (isReplaced || (await readQuarantines(serving.pool))[0]!.next === 1n) return;
      isReplaced = true;
      await serving.pool.query(`begin; alter schema ${serving.schema} rename to ${serving.schema}_replaced; alter schema ${rebuilt.schema} rename to ${serving.schema}; commit`);
    });
    expect(isReplaced).toBe(true);
    expect(await readQuarantines(serving.pool)).toEqual([]);
    expect(await differencesBetween(whole, serving)).toEqual([]);
    const { rows: [keys] } = await serving.pool.query('select max(key)::int as used, (select last_value from local_keys)::int as given from counters');
    expect(keys.used).toBeLessThan(keys.given + 1000);
  });

  test('that takes too long is tried alone three times, and holds its team then; nobody else waits for its locks', async () => {
    const database = await newReadModel(1500);
    const records = recordsOf(steps);
    await project(database, records.slice(0, 2), [2]);
    await plantFault(database, teams[0]!, 'true', 'perform pg_sleep(600)');
    const told: string[] = [];
    await project(database, records.slice(2), [6], {
      quarantined: ({ offset }, teamId) => told.push(`quarantine at ${offset} of ${teamId}`),
      timedOut: (some) => told.push(`timeout of ${some.length} from ${some[0]!.offset}`),
    });
    expect(told.slice(0, 2)).toEqual(['timeout of 4 from 2', 'timeout of 1 from 2']);
    expect(told.filter((line) => line === 'timeout of 1 from 2')).toHaveLength(3);
    expect(told.filter((line) => line.startsWith('quarantine'))).toEqual([`quarantine at 2 of ${teams[0]}`]);
    expect(await counts(database)).toEqual({ [teams[0]!]: 1, [teams[1]!]: 3 });
  }, 60_000);

  test('that takes too long in a batch that was decided ahead is tried alone, too; the log is in Kafka', async () => {
    const database = await newReadModel(800);
    const records = recordsOf([...steps.slice(0, 2), ['TeamSuspended', 1], ['TeamSuspended', 0], ['TeamSuspended', 1], ['TeamSuspended', 0]]);
    const told: string[] = [];
    let counted = 0;
    const logger = pino({}, { write: (line) => {
      const { level, offset, teamId } = JSON.parse(line);
      told.push(`${level === pino.levels.values['error'] ? 'quarantine' : 'timeout'} at ${offset} of ${teamId}`);
    } });
    let projected = Promise.withResolvers<Decided | null>();
    const projection = new PartitionProjection({
      partition, position: await readProgressOf(database.pool, partition), database, projector: new Projector(models),
      // Asked for batches that were decided ahead only.
      withNotification: async ([first], _decided, store) => {
        told.push(`ahead from ${first!.offset}`);
        await store(null);
        return false;
      },
      onProjected: (_records, decided) => projected.resolve(decided),
      onLost: () => projected.reject(new Error('the partition was lost')),
      onHalted: (_offset, error) => projected.reject(error),
      listener: listenerOf(logger, { projectionTimedOut: () => { counted += 1; } }),
    });
    const offer = async (record: LogRecord): Promise<Decided | null> => {
      projected = Promise.withResolvers();
      projection.offer([record]);
      return projected.promise;
    };
    try {
      for (const record of records.slice(0, 3)) await offer(record);
      await plantFault(database, teams[0]!, 'true', 'perform pg_sleep(600)');
      told.splice(0);
      expect((await offer(records[3]!))?.held.size).toBe(1);
      expect(told.slice(0, 2)).toEqual(['ahead from 3', `timeout at 3 of ${teams[0]}`]);
      // The batch that was decided ahead, and three times alone.
      expect(counted).toBeGreaterThanOrEqual(4);
      expect(told.filter((line) => line === `timeout at 3 of ${teams[0]}`)).toHaveLength(counted);
      expect(told.filter((line) => !line.startsWith('timeout'))).toEqual(['ahead from 3', `quarantine at 3 of ${teams[0]}`]);
      expect((await offer(records[4]!))?.outcomes.size).toBe(1);
      expect((await offer(records[5]!))?.held.size).toBe(1);
      expect(await counts(database)).toEqual({ [teams[0]!]: 1, [teams[1]!]: 3 });
    } finally {
      await projection.close();
    }
  }, 60_000);

  test('a replay meets it at the same place', async () => {
    const [live, replayed] = [await newReadModel(), await newReadModel()];
    const records = recordsOf(steps);
    for (const where of [live, replayed]) await plantFault(where, teams[0]!);
    await project(live, records, [2]);
    await project(replayed, records, [6]);
    expect(await readQuarantines(live.pool)).toHaveLength(1);
    expect(await differencesBetween(live, replayed)).toEqual([]);
    await live.pool.query('update quarantines set failed_offset = failed_offset + 1');
    expect(await differencesBetween(live, replayed)).toHaveLength(1);
  });

  test('halts the partition if it is of a type that no model decides, which a newer version may know', async () => {
    const database = await newReadModel();
    const [first] = recordsOf(steps);
    const { bytes } = encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, { type: 'TeamPlanSet', teamId: teams[0]! });
    await expect(project(database, [first!, { ...first!, offset: 1n, bytes }], [2])).rejects.toMatchObject({ name: 'ProjectionFailed', offset: 1n });
    expect(await readQuarantines(database.pool)).toEqual([]);
  });

  test('halts the partition if so many teams are in quarantine that it is no fault of theirs', async () => {
    const database = await newReadModel();
    const records = recordsOf(steps);
    const held = Object.fromEntries(Array.from({ length: quarantinesMax }, () => [randomUUID(), 1]));
    await database.pool.query('update progress set held = $1', [JSON.stringify(held)]);
    await plantFault(database, teams[0]!);
    await expect(project(database, records, [6])).rejects.toMatchObject({ name: 'ProjectionFailed', offset: 0n });
  });
});
