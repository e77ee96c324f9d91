/** Tests what the projector promises to any model, with a model of the tests. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { compareReadModels } from '../../../src/log/compare/compare.ts';
import { Snapshot } from '../../../src/log/compare/snapshot.ts';
import { removeGarbage } from '../../../src/log/garbage.ts';
import { listModels } from '../../../src/log/model.ts';
import { ModelSet } from '../../../src/log/model-set.ts';
import { PostgresLog } from '../../../src/log/postgres/postgres-log.ts';
import { projectRecords } from '../../../src/log/project-records.ts';
import { Projector } from '../../../src/log/projector.ts';
import { createReadModel, tablesSqlOf } from '../../../src/log/read-model.ts';
import { Database } from '../../../src/storage/database/database.ts';
import { inTransaction } from '../../../src/storage/database/transaction.ts';
import { encodeEvent } from '../../../src/language/events/event-codec.ts';
import type { EncodedEvent, EventData } from '../../../src/language/events/event.ts';
import type { Outcome } from '../../../src/language/events/outcome.ts';
import type { LogRecord } from '../../../src/log/event-log.ts';
import { noLogObserver } from '../../../src/log/log-observer.ts';
import { partitionCount } from '../../../src/log/partition.ts';
import { appendRecord } from '../../../src/log/postgres/append-record.ts';
import { createDatabase } from '../../support/postgres.ts';
import { fc, uncut } from '../../support/property.ts';
import { sleepUntil } from '../../support/server.ts';
import { asked, countMax, toyModels } from './counter-model.ts';
import { UndoJournal } from '../../../src/log/batch/undo-journal.ts';

const partition = 0;
const models = listModels(toyModels);
const closers: (() => Promise<unknown>)[] = [];
let url: string;
let database: Database;
let schemas = 0;

type Part = readonly ['TeamCreated' | 'TeamSuspended' | 'TeamResumed', number];
/**
 * The number is that of a team, or, in thousands, the base of a LogResumed. A list is an event that consists of these.
 */
type Step = Part | readonly ['LogResumed', number] | readonly ['all or none', ...Part[]];

const teams = Array.from({ length: 6 }, () => randomUUID());

function event(step: Step, commandId: string = randomUUID()): EncodedEvent {
  return encodeEvent({ commandId, notAfter: null, requestDigest: null }, dataOf(step));
}

function dataOf(step: Step): EventData {
  if (step[0] === 'all or none') {
    const [, ...parts] = step;
    const columns = parts.map(([id, team]) => ({ id, displayName: teams[team]! }));
    return { type: 'TablePatchRequested', teamId: teams[0]!, tableId: 'counters', ifMatch: null, name: null, columns };
  }
  const [type, number] = step;
  if (type === 'LogResumed') return { type, base: BigInt(number) * 1000n };
  const teamId = teams[number]!;
  return type === 'TeamCreated' ? { type, teamId, name: 'counted' } : { type, teamId };
}

/** The steps as log records, from offset 0 on. */
function recordsOf(steps: readonly Step[]): LogRecord[] {
  return steps.map((step, at) => ({ partition, offset: BigInt(at), time: 1000 + at, bytes: event(step).bytes }));
}

/** An empty read model in a schema of its own. */
async function newReadModel(at = url): Promise<Database> {
  schemas += 1;
  const made = await Database.open({ url: at, schema: `engine_${schemas}`, synchronousCommit: false });
  closers.push(() => made.close());
  await createReadModel(() => tablesSqlOf(models), made, partitionCount);
  return made;
}

async function counted(where: Database): Promise<readonly unknown[]> {
  const { rows } = await where.pool.query('select team_id, count, seen from counters order by team_id');
  return rows;
}

/** The same but for what was seen: how much is stored depends on the batches. */
async function withoutSeen(where: Database): Promise<readonly unknown[]> {
  const { rows } = await where.pool.query('select team_id, count from counters order by team_id');
  return rows;
}

beforeAll(async () => {
  const created = await createDatabase();
  closers.push(() => created.drop());
  ({ url } = created);
});

beforeEach(async () => {
  database = await newReadModel();
  asked.counters = [];
});

afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

/** Projects records in batches of these sizes; the last size repeats. */
async function project(where: Database, records: readonly LogRecord[], sizes: readonly number[]): Promise<Outcome[]> {
  const projector = new Projector(models);
  const outcomes: Outcome[] = [];
  const left = [...records];
  for (let at = 0; left.length > 0; at += 1) {
    const batch = left.splice(0, sizes[Math.min(at, sizes.length - 1)]);
    await projectRecords({ database: where, projector, partition, epoch: 0n }, batch, (_, projected) =>
      outcomes.push(...projected.outcomes.values()),
    );
  }
  return outcomes;
}

const anyTeam = fc.integer({ min: 0, max: 3 });
const anyPart = fc.tuple(
  fc.constantFrom('TeamSuspended' as const, 'TeamSuspended' as const, 'TeamResumed' as const),
  anyTeam,
);
const anySteps = fc
  .array(
    fc.oneof<fc.Arbitrary<Step>[]>(
      anyPart,
      anyPart,
      fc.tuple(fc.constant('LogResumed' as const), anyTeam),
      fc.array(anyPart, { minLength: 1, maxLength: 4 }).map((parts): Step => ['all or none', ...parts]),
    ),
    { minLength: 1, maxLength: 30 },
  )
  .map((steps): Step[] => [...teams.map((_, team): Step => ['TeamCreated', team]), ...steps]);

test('state and outcomes do not depend on where records are cut into batches', async () => {
  await fc.assert(
    fc.asyncProperty(
      anySteps,
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
      async (steps, sizes) => {
        const records = recordsOf(steps);
        const [whole, cut] = [await newReadModel(), await newReadModel()];
        expect(await project(cut, records, sizes)).toEqual(await project(whole, records, [records.length]));
        expect(await counted(cut)).toEqual(await counted(whole));
        const snapshots = await Promise.all([whole, cut].map(({ schema }) => Snapshot.open(url, schema)));
        expect(
          (await compareReadModels(models, (compare) => compare(snapshots[0]!, snapshots[1]!))).differences,
        ).toEqual([]);
        await Promise.all(snapshots.map((snapshot) => snapshot.close()));
        for (const each of [whole, cut]) await each.pool.query(`drop schema ${each.schema} cascade`);
      },
    ),
    { ...uncut, numRuns: 6 },
  );
});

describe('a LogResumed', () => {
  const steps: Step[] = [
    ['TeamCreated', 0],
    ['TeamSuspended', 0],
    ['LogResumed', 2],
    ['TeamSuspended', 0],
    ['LogResumed', 1],
    ['TeamSuspended', 0],
    ['LogResumed', 3],
    ['TeamSuspended', 0],
  ];
  const etags = [undefined, 1n, undefined, 2003n, undefined, 2005n, undefined, 3007n];

  test.each([[[8]], [[1]], [[3, 2, 3]]])(
    'raises the base of the events behind it, and never lowers it; in batches of %j',
    async (sizes) => {
      const outcomes = await project(database, recordsOf(steps), sizes);
      expect(outcomes.map((outcome) => ('etag' in outcome ? outcome.etag : undefined))).toEqual(etags);
      const { rows } = await database.pool.query('select base, gaps from progress where partition = $1', [partition]);
      // What may have been lost is left out: the versions that came next, up to those that come now.
      expect(rows).toEqual([{ base: '3000', gaps: '[["2","2002"],["2006","3006"]]' }]);
    },
  );
});

test('one batch looks each thing up once, and stores net changes', async () => {
  await project(
    database,
    recordsOf([
      ['TeamCreated', 0],
      ['TeamSuspended', 0],
      ['TeamSuspended', 0],
      ['TeamCreated', 1],
    ]),
    [4],
  );
  expect(asked.counters).toEqual([[teams[0], teams[1]]]);
  expect(await counted(database)).toEqual(
    expect.arrayContaining([
      { team_id: teams[0], count: 3, seen: 0 },
      { team_id: teams[1], count: 1, seen: 0 },
    ]),
  );
});

test('an event that reads what is stored sees all before it, and nothing behind it', async () => {
  await project(
    database,
    recordsOf([
      ['TeamCreated', 0],
      ['TeamCreated', 1],
      ['TeamResumed', 0],
      ['TeamCreated', 2],
    ]),
    [4],
  );
  expect(await counted(database)).toContainEqual({ team_id: teams[0], count: 1, seen: 2 });
});

test('a command that comes again has its first outcome, and changes nothing', async () => {
  const commandId = randomUUID();
  const [created, first, again] = [
    event(['TeamCreated', 0]),
    event(['TeamSuspended', 0], commandId),
    event(['TeamSuspended', 0], commandId),
  ];
  const records = [created, first, again].map(({ bytes }, at): LogRecord => ({
    partition,
    offset: BigInt(at),
    time: 1000,
    bytes,
  }));
  await project(database, records, [2, 1]);
  expect(await counted(database)).toEqual([{ team_id: teams[0], count: 2, seen: 0 }]);
});

describe('an event that consists of others', () => {
  const created = teams.map((_, team): Step => ['TeamCreated', team]);

  test('does what they do one by one, if none is refused', async () => {
    // Fewer than the counters allow, so that none is refused.
    const anyParts = fc
      .array(anyPart, { minLength: 1, maxLength: 8 })
      .map((parts) =>
        parts.filter(([, team], at) => parts.slice(0, at).filter((part) => part[1] === team).length < countMax - 1),
      );
    await fc.assert(
      fc.asyncProperty(anyParts, async (parts) => {
        const [together, apart] = [await newReadModel(), await newReadModel()];
        const outcomes = await project(together, recordsOf([...created, ['all or none', ...parts]]), [100]);
        expect(outcomes.at(-1)).toMatchObject({
          status: 'applied',
          etag: BigInt(created.length),
          result: { droppedCells: parts.length },
        });
        await project(apart, recordsOf([...created, ...parts]), [100]);
        expect(await withoutSeen(together)).toEqual(await withoutSeen(apart));
        for (const each of [together, apart]) await each.pool.query(`drop schema ${each.schema} cascade`);
      }),
      { ...uncut, numRuns: 6 },
    );
  });

  test.each([[[100]], [[1]], [[5, 1, 2]]])(
    'changes nothing if one of them is refused, and the next event sees nothing of it; in batches of %j',
    async (sizes) => {
      const twice: Part[] = [
        ['TeamSuspended', 0],
        ['TeamSuspended', 0],
      ];
      const outcomes = await project(
        database,
        recordsOf([
          ...created,
          ['all or none', ...twice],
          ['all or none', ['TeamSuspended', 1], ...twice, ['TeamSuspended', 0], ['TeamSuspended', 2]],
          ...twice,
          ['all or none', ['TeamSuspended', 3], ['TeamSuspended', 3]],
        ]),
        sizes,
      );
      const applied = { status: 'applied' };
      const refused = {
        status: 'refused',
        refusal: { type: 'limit_exceeded', message: `columns[3]: it counts to ${countMax}` },
      };
      expect(outcomes.slice(created.length)).toMatchObject([applied, refused, applied, applied, applied]);
      expect(await withoutSeen(database)).toEqual(
        expect.arrayContaining([countMax, 1, 1, 3].map((count, team) => ({ team_id: teams[team], count }))),
      );
    },
  );
});

test('records that are not at the progress are refused whole', async () => {
  const records = recordsOf([
    ['TeamCreated', 0],
    ['TeamCreated', 1],
  ]);
  await project(database, records.slice(0, 1), [1]);
  await expect(project(database, records.slice(0, 1), [1])).rejects.toMatchObject({ name: 'ProgressMoved' });
  expect(await counted(database)).toHaveLength(1);
});

describe('appended through the log in Postgres', () => {
  async function openEngine(on = database, observer = noLogObserver): Promise<PostgresLog> {
    const engine = await PostgresLog.open(
      {
        database: on,
        projector: new Projector(models),
        partitions: partitionCount,
        logger: pino({ level: 'silent' }),
        queueEventsMax: 1000,
        queueBytesMax: 1_000_000,
        unknownWait: 1000,
        observer,
      },
      new AbortController().signal,
    );
    closers.push(() => engine.close());
    return engine;
  }

  test('many at once are decided in one order, and what was remembered is right', async () => {
    const engine = await openEngine();
    await engine.append(partition, event(['TeamCreated', 0]));
    // The first speculative batch is the first that leaves a memory.
    await engine.append(partition, event(['TeamSuspended', 0]));
    const before = asked.remembered;
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => engine.append(partition, event(['TeamSuspended', 0]))),
    );
    const statuses = outcomes.map(({ status }) => status);
    expect(statuses.filter((status) => status === 'applied')).toHaveLength(countMax - 2);
    expect(new Set(outcomes.flatMap(({ etag }) => etag ?? [])).size).toBe(countMax - 2);
    expect(asked.remembered).toBeGreaterThan(before);
    expect(await counted(database)).toEqual([{ team_id: teams[0], count: countMax, seen: 0 }]);
  });

  test.each([
    ['many that cost little', Array.from({ length: 400 }, () => 8000), [400]],
    ['what costs much is cut', [3e6, 3e6, 3e6], [1, 1, 1]],
    ['what costs more than a batch may is one of its own', [8000, 1e9, 8000, 8000], [1, 1, 2]],
  ])('a batch is bounded by what its events cost: %s', async (_name, costs, expected) => {
    const batches: number[] = [];
    const engine = await openEngine(database, { ...noLogObserver, batchAppended: (events) => batches.push(events) });
    await engine.append(partition, event(['TeamCreated', 0]));
    await Promise.all(costs.map((cost) => engine.append(partition, { ...event(['TeamSuspended', 0]), cost })));
    expect(batches).toEqual([1, ...expected]);
  });

  test('a second process that writes between is met, and nothing is lost or doubled', async () => {
    const engines = [await openEngine(), await openEngine()];
    await engines[0]!.append(partition, event(['TeamCreated', 1]));
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, at) => engines[at % 2]!.append(partition, event(['TeamSuspended', 1]))),
    );
    expect(outcomes.filter(({ status }) => status === 'applied')).toHaveLength(countMax - 1);
    expect(await counted(database)).toContainEqual({ team_id: teams[1], count: countMax, seen: 0 });
  });

  test('several as one event are all or none too, where a second process writes between', async () => {
    const engines = [await openEngine(), await openEngine()];
    await engines[0]!.append(partition, event(['TeamCreated', 4]));
    await engines[1]!.append(partition, event(['TeamCreated', 5]));
    const pair: Step = ['all or none', ['TeamSuspended', 4], ['TeamSuspended', 5]];
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        engines[at % 2]!.append(partition, event(at < 2 ? ['TeamSuspended', 5] : pair)),
      ),
    );
    const [singles, pairs] = [outcomes.slice(0, 2), outcomes.slice(2)].map(
      (of) => of.filter(({ status }) => status === 'applied').length,
    ) as [number, number];
    expect(singles + pairs).toBe(countMax - 1);
    expect(await withoutSeen(database)).toEqual(
      expect.arrayContaining([
        { team_id: teams[4], count: 1 + pairs },
        { team_id: teams[5], count: countMax },
      ]),
    );
  });

  test('events of a process with another read model are projected soon, although nobody appends here', async () => {
    const other = await newReadModel();
    const [here] = [await openEngine(), await openEngine(other)];
    await here.append(partition, event(['TeamCreated', 1]));
    const {
      rows: [wanted],
    } = await database.pool.query('select next, time from progress where partition = $1', [partition]);
    await sleepUntil(async () => {
      const {
        rows: [found],
      } = await other.pool.query('select next, time from progress where partition = $1', [partition]);
      return found.next === wanted.next && found.time === wanted.time;
    }, 'the other read model has it');
  });

  test('a partition that has halted keeps no other from being brought to the head', async () => {
    // In a database of its own: no projector could be opened on this log any more.
    const created = await createDatabase();
    closers.push(() => created.drop());
    const [mine, other] = [await newReadModel(created.url), await newReadModel(created.url)];
    const [here, there] = [await openEngine(mine), await openEngine(other)];
    const halted = 0;
    const unknown = encodeEvent(
      { commandId: randomUUID(), notAfter: null, requestDigest: null },
      { type: 'TeamPlanSet', teamId: teams[0]! },
    );
    await inTransaction(mine.pool, (client) => appendRecord(client, halted, unknown.bytes));
    await sleepUntil(async () => there.status().halts[halted] !== null, 'it has halted');
    const { end } = await there.bounds(halted + 1);
    await here.append(halted + 1, event(['TeamCreated', 1]));
    await sleepUntil(async () => {
      const {
        rows: [found],
      } = await other.pool.query('select next from progress where partition = $1', [halted + 1]);
      return BigInt(found.next) === end + 1n;
    }, 'the other read model has it');
    expect(there.status().halts[halted]).toBe('not_projectable');
  });

  test('a LogResumed raises the base for events that are decided ahead, in every process', async () => {
    const [one, other] = [await openEngine(), await openEngine()];
    const { end } = await one.bounds(partition);
    const versionsOf = async (engine: PostgresLog, ...steps: readonly Step[]): Promise<unknown[]> => {
      const outcomes = await Promise.all(steps.map((step) => engine.append(partition, event(step))));
      return outcomes.map((outcome) => ('etag' in outcome ? outcome.etag : undefined));
    };
    expect(await versionsOf(one, ['TeamCreated', 2], ['TeamSuspended', 2])).toEqual([undefined, end + 1n]);
    expect(await versionsOf(other, ['TeamSuspended', 2])).toEqual([end + 2n]);
    expect(await versionsOf(one, ['TeamCreated', 3], ['LogResumed', 7], ['TeamSuspended', 3])).toEqual([
      undefined,
      undefined,
      end + 7005n,
    ]);
    expect(await versionsOf(other, ['TeamSuspended', 3])).toEqual([end + 7006n]);
    expect(await versionsOf(one, ['TeamSuspended', 3])).toEqual([end + 7007n]);
  });
});

test('garbage collection asks each model, as if it were later', async () => {
  const full = Array.from({ length: countMax - 1 }, (): Step => ['TeamSuspended', 0]);
  await project(database, recordsOf([['TeamCreated', 0], ['TeamCreated', 1], ...full]), [10]);
  expect(await removeGarbage(models, database)).toBe(false);
  expect(await removeGarbage(models, database, 1)).toBe(true);
  expect(await counted(database)).toEqual([{ team_id: teams[1], count: 1, seen: 0 }]);
});

test('two models that decide one type of event are a mistake that shows at once', () => {
  const { counters } = toyModels;
  expect(() => new ModelSet({ counters, again: counters })).toThrow('two models decide TeamCreated');
});

test('a change that no model takes is a mistake that shows at once', () => {
  const set = new ModelSet(models);
  expect(() =>
    set.apply(
      set.open(() => 1n, new UndoJournal()),
      { kind: 'unheard of' },
    ),
  ).toThrow('a change of the unknown kind unheard of');
});
