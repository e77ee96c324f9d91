/** A team in quarantine comes to the same when it is released, whatever happens meanwhile. */
import { describe, expect, test } from '@jest/globals';
import { Projector } from '../../../../src/log/projector.ts';
import { readQuarantines } from '../../../../src/log/quarantine/quarantine.store.ts';
import { releaseTeam } from '../../../../src/log/quarantine/release.ts';
import type { Database } from '../../../../src/storage/database/database.ts';
import type { LogRecord } from '../../../../src/log/event-log.ts';
import { fc, uncut } from '../../../support/property.ts';
import {
  counts,
  models,
  project,
  recordsOfSteps,
  steps,
  teams,
  useReadModels,
  type LogStep,
} from '../counted-teams.ts';
import { plantFault } from '../planted-fault.ts';

const { newReadModel, remove, differencesBetween } = useReadModels();
const neverAborted = new AbortController().signal;

/**
 * A log of these records, which are read a few at a time. Some have a time of a broker whose clock is slow: the log's
 * time never falls.
 */
function logOf(records: readonly LogRecord[], atOnce = 3): Parameters<typeof releaseTeam>[1]['log'] {
  return {
    read: async function* read(_partition, from, to) {
      for (let next = from; next < to; next += BigInt(atOnce)) {
        const read = records.filter(({ offset }) => offset >= next && offset < next + BigInt(atOnce) && offset < to);
        yield read.map((record) =>
          record.time === timeBefore(record, records) ? { ...record, time: record.time - 500 } : record,
        );
      }
    },
  };
}

function timeBefore({ offset }: LogRecord, records: readonly LogRecord[]): number | undefined {
  return records.find((other) => other.offset === offset - 1n)?.time;
}

/**
 * Resolves to the offsets from which it read. `meanwhile`: happens before its transactions, which are numbered from 1.
 */
async function release(
  where: Database,
  records: readonly LogRecord[],
  team: number,
  meanwhile?: (transaction: number) => Promise<void>,
): Promise<bigint[]> {
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
    database: { pool: where.pool, writers: writers as Database['writers'] },
    projector: new Projector(models),
    onProgress: () => undefined,
    signal: neverAborted,
    log: {
      read: (of, from, to) => {
        readFrom.push(from);
        return read(of, from, to);
      },
    },
  });
  return readFrom;
}

const anyStep: fc.Arbitrary<LogStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(
      fc.constantFrom('TeamCreated' as const, 'TeamSuspended' as const, 'TeamSuspended' as const),
      fc.integer({ min: 0, max: 2 }),
      fc.option(fc.constant(0), { nil: undefined }),
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('LogResumed' as const), fc.integer({ min: 1, max: 5 })) },
);

test('what is held and released comes to what it would have come to at once, wherever the fault began and ended', async () => {
  let held = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 5, maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.nat(),
      fc.uniqueArray(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 2 }),
      async (some, sizes, from, to, faulty) => {
        const records = recordsOfSteps(some);
        const [began, ended] = [from % records.length, to % records.length].toSorted((a, b) => a - b) as [
          number,
          number,
        ];
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
        await remove(whole, cut);
      },
    ),
    { ...uncut, numRuns: 12, examples: [[[...steps], [2], 2, 4, [0]]] },
  );
  expect(held).toBeGreaterThan(0);
});

describe('a team that is held', () => {
  test('is released up to the next event that cannot be projected, and then from there', async () => {
    const database = await newReadModel();
    const records = recordsOfSteps([...steps, ['TeamSuspended', 0]]);
    await project(database, records.slice(0, 2), [2]);
    const first = await plantFault(database, teams[0]!);
    await project(database, records.slice(2), [2]);
    await first.repair();
    const second = await plantFault(database, teams[0]!, 'new.count >= 3');
    await expect(release(database, records, 0)).rejects.toMatchObject({
      name: 'ReleaseFailed',
      offset: 4n,
      message: expect.stringContaining('planted'),
    });
    expect(await counts(database)).toEqual({ [teams[0]!]: 2, [teams[1]!]: 3 });
    expect(await readQuarantines(database.pool)).toEqual([
      expect.objectContaining({
        failedOffset: 4n,
        next: 4n,
        since: 1000,
        reason: expect.stringContaining('planted'),
      }),
    ]);
    await second.repair();
    await release(database, records, 0);
    expect(await counts(database)).toEqual({ [teams[0]!]: 4, [teams[1]!]: 3 });
  });

  describe('and again, once it was released', () => {
    const again = recordsOfSteps([...steps, ['TeamSuspended', 0], ['TeamSuspended', 1]]);

    /**
     * Two events are held; the result lets the team go on as another operator would, and holds it again from a later
     * event on.
     */
    async function holdTwice(
      database: Database,
    ): Promise<{ readonly hold: () => Promise<void>; readonly repair: () => Promise<void> }> {
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
      await expect(failing).rejects.toMatchObject({
        name: 'ReleaseFailed',
        offset: 2n,
        message: expect.stringContaining('planted'),
      });
      expect(await readQuarantines(database.pool)).toEqual([expect.objectContaining({ failedOffset: 6n, next: 6n })]);
    });
  });

  test('is released in a read model that took the place of another one meanwhile, with local keys of that only', async () => {
    const records = recordsOfSteps([['TeamCreated', 1], ['TeamCreated', 0], ...steps.slice(2)]);
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
      await serving.pool.query(
        `begin; alter schema ${serving.schema} rename to ${serving.schema}_replaced; alter schema ${rebuilt.schema} rename to ${serving.schema}; commit`,
      );
    });
    expect(isReplaced).toBe(true);
    expect(await readQuarantines(serving.pool)).toEqual([]);
    expect(await differencesBetween(whole, serving)).toEqual([]);
    const {
      rows: [keys],
    } = await serving.pool.query(
      'select max(key)::int as used, (select last_value from local_keys)::int as given from counters',
    );
    expect(keys.used).toBeLessThan(keys.given + 1000);
  });
});
