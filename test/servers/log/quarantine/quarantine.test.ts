/**
 * A team with an event that cannot be projected is held, and no other one; some events halt their partition instead.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { Decided } from '../../../../src/log/batch/batch.ts';
import { PartitionProjection } from '../../../../src/log/kafka/partition-projection.ts';
import { readProgressOf } from '../../../../src/log/progress/progress.store.ts';
import { projectBatch } from '../../../../src/log/project-records.ts';
import { ProgressMoved, Projector, quarantinesMax } from '../../../../src/log/projector.ts';
import { readQuarantines } from '../../../../src/log/quarantine/quarantine.store.ts';
import { listenerOf } from '../../../../src/log/projection-listener.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { LogRecord } from '../../../../src/log/event-log.ts';
import { counts, models, partition, project, recordsOfSteps, steps, teams, useReadModels } from '../counted-teams.ts';
import { plantFault } from '../planted-fault.ts';

const { newReadModel, differencesBetween } = useReadModels();

describe('an event that cannot be projected', () => {
  test.each([[[6]], [[1]], [[2, 3, 1]]])(
    'holds its team from there on, and nobody else; in batches of %j',
    async (sizes) => {
      const database = await newReadModel();
      const records = recordsOfSteps(steps);
      await project(database, records.slice(0, 2), sizes);
      await plantFault(database, teams[0]!);
      const decided = await project(database, records.slice(2), sizes);
      expect(await counts(database)).toEqual({ [teams[0]!]: 1, [teams[1]!]: 3 });
      expect(decided.reduce((sum, { held }) => sum + held.size, 0)).toBe(2);
      expect(decided.reduce((sum, { outcomes }) => sum + outcomes.size, 0)).toBe(2);
      expect(await readQuarantines(database.pool)).toEqual([
        expect.objectContaining({
          teamId: teams[0],
          partition,
          failedOffset: 2n,
          next: 2n,
          since: 1000,
          reason: expect.stringContaining('planted'),
        }),
      ]);
      const { next, held } = await readProgressOf(database.pool, partition);
      expect(next).toBe(6n);
      expect([...held.since]).toEqual([[teams[0], 1000]]);
    },
  );

  test('that another process has met is told to one that remembers the partition from before: it stores nothing, and knows then', async () => {
    const database = await newReadModel();
    const records = recordsOfSteps(steps);
    const target = { database, projector: new Projector(models), partition, epoch: 0n };
    await projectBatch(target, records.slice(0, 2));
    const { repair } = await plantFault(database, teams[0]!);
    await project(database, records.slice(2, 3), [1]);
    await repair();
    await expect(projectBatch(target, records.slice(3))).rejects.toThrow(ProgressMoved);
    expect((await readProgressOf(database.pool, partition)).next).toBe(3n);
    await projectBatch(target, records.slice(3));
    expect(await counts(database)).toEqual({ [teams[0]!]: 1, [teams[1]!]: 3 });
  });

  test('that takes too long is tried alone three times, and holds its team then; nobody else waits for its locks', async () => {
    const database = await newReadModel(2000);
    const records = recordsOfSteps(steps);
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
  });

  test('that takes too long in a batch that was decided ahead is tried alone, too; the log is in Kafka', async () => {
    const database = await newReadModel(2000);
    const records = recordsOfSteps([
      ...steps.slice(0, 2),
      ['TeamSuspended', 1],
      ['TeamSuspended', 0],
      ['TeamSuspended', 1],
      ['TeamSuspended', 0],
    ]);
    const told: string[] = [];
    let counted = 0;
    const logger = pino(
      {},
      {
        write: (line) => {
          const { level, offset, teamId } = JSON.parse(line);
          told.push(`${level === pino.levels.values['error'] ? 'quarantine' : 'timeout'} at ${offset} of ${teamId}`);
        },
      },
    );
    let projected = Promise.withResolvers<Decided | null>();
    const projection = new PartitionProjection({
      partition,
      position: await readProgressOf(database.pool, partition),
      database,
      projector: new Projector(models),
      // Asked for batches that were decided ahead only.
      withNotification: async ([first], _decided, store) => {
        told.push(`ahead from ${first!.offset}`);
        await store(null);
        return false;
      },
      onProjected: (_records, decided) => projected.resolve(decided),
      onLost: () => projected.reject(new Error('the partition was lost')),
      onHalted: (_offset, error) => projected.reject(error),
      listener: listenerOf(logger, {
        projectionTimedOut: () => {
          counted += 1;
        },
      }),
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
      expect(told.filter((line) => !line.startsWith('timeout'))).toEqual([
        'ahead from 3',
        `quarantine at 3 of ${teams[0]}`,
      ]);
      expect((await offer(records[4]!))?.outcomes.size).toBe(1);
      expect((await offer(records[5]!))?.held.size).toBe(1);
      expect(await counts(database)).toEqual({ [teams[0]!]: 1, [teams[1]!]: 3 });
    } finally {
      await projection.close();
    }
  });

  test('a replay meets it at the same place', async () => {
    const [live, replayed] = [await newReadModel(), await newReadModel()];
    const records = recordsOfSteps(steps);
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
    const [first] = recordsOfSteps(steps);
    const { bytes } = encodeEvent(
      { commandId: randomUUID(), notAfter: null, requestDigest: null },
      { type: 'TeamPlanSet', teamId: teams[0]! },
    );
    await expect(project(database, [first!, { ...first!, offset: 1n, bytes }], [2])).rejects.toMatchObject({
      name: 'ProjectionFailed',
      offset: 1n,
    });
    expect(await readQuarantines(database.pool)).toEqual([]);
    // What is before it is stored.
    expect(await counts(database)).toEqual({ [teams[0]!]: 1 });
  });

  test('halts the partition if so many teams are in quarantine that it is no fault of theirs', async () => {
    const database = await newReadModel();
    const records = recordsOfSteps(steps);
    const held = Object.fromEntries(Array.from({ length: quarantinesMax }, () => [randomUUID(), 1]));
    await database.pool.query('update progress set held = $1', [JSON.stringify(held)]);
    await plantFault(database, teams[0]!);
    await expect(project(database, records, [6])).rejects.toMatchObject({ name: 'ProjectionFailed', offset: 0n });
  });
});
