/**
 * Teams whose events are counted by the model of the tests, in read models of their own; some of these meet planted
 * faults.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { compareReadModels } from '../../../src/log/compare/compare.ts';
import { Snapshot } from '../../../src/log/compare/snapshot.ts';
import type { Decided } from '../../../src/log/batch/batch.ts';
import { listModels } from '../../../src/log/model.ts';
import { readProgressOf } from '../../../src/log/progress/progress.store.ts';
import { projectRecords, type ProjectionListener } from '../../../src/log/project-records.ts';
import { ProgressMoved, Projector } from '../../../src/log/projector.ts';
import { createReadModel, tablesSqlOf } from '../../../src/log/read-model.ts';
import { Database } from '../../../src/storage/database/database.ts';
import { encodeEvent } from '../../../src/language/events/event-codec.ts';
import type { EventData } from '../../../src/language/events/event.ts';
import type { LogRecord } from '../../../src/log/event-log.ts';
import { createDatabase } from '../../support/postgres.ts';
import { toyModels } from './counter-model.ts';

export const partition = 0;
export const models = listModels(toyModels);

interface ReadModels {
  /** Creates an empty one, in a schema of its own. */
  newReadModel(queryTimeout?: number): Promise<Database>;
  /** Removes read models before the file ends, with their connections: for those of each run of a property. */
  remove(...made: readonly Database[]): Promise<void>;
  differencesBetween(...both: readonly [Database, Database]): Promise<readonly unknown[]>;
}

/** Read models of the test file that calls it. */
export function useReadModels(): ReadModels {
  const open = new Set<Database>();
  let drop: () => Promise<unknown>;
  let url: string;
  let schemas = 0;

  beforeAll(async () => {
    ({ url, drop } = await createDatabase());
  });

  afterAll(async () => {
    for (const each of open) await each.close();
    await drop();
  });

  return {
    newReadModel: async (queryTimeout) => {
      schemas += 1;
      const made = await Database.open({
        url,
        schema: `counted_${schemas}`,
        synchronousCommit: false,
        ...(queryTimeout === undefined ? {} : { queryTimeout }),
      });
      open.add(made);
      await createReadModel(() => tablesSqlOf(models), made, 1);
      return made;
    },
    remove: async (...made) => {
      for (const each of made) {
        await each.pool.query(`drop schema ${each.schema} cascade`);
        open.delete(each);
        await each.close();
      }
    },
    differencesBetween: async (...both) => {
      const snapshots = await Promise.all(both.map(({ schema }) => Snapshot.open(url, schema)));
      const { differences } = await compareReadModels(models, (compare) => compare(snapshots[0]!, snapshots[1]!));
      await Promise.all(snapshots.map((snapshot) => snapshot.close()));
      return differences;
    },
  };
}

export const teams = Array.from({ length: 3 }, () => randomUUID()).toSorted();

/**
 * The number is that of a team, or, in thousands, the base of a LogResumed; a command that comes again has a number of
 * its own.
 */
export type LogStep = readonly [
  type: 'TeamCreated' | 'TeamSuspended' | 'LogResumed',
  number: number,
  repeated?: number | undefined,
];

const repeated = Array.from({ length: 3 }, () => randomUUID());

export function recordsOfSteps(steps: readonly LogStep[], start = 0): LogRecord[] {
  return steps.map(([type, number, command], at) => {
    const teamId = teams[number]!;
    const data: EventData =
      type === 'LogResumed'
        ? { type, base: BigInt(number) * 1000n }
        : type === 'TeamCreated'
          ? { type, teamId, name: 'counted' }
          : { type, teamId };
    // The ID of a command is made of its team.
    const commandId = command === undefined || type !== 'TeamSuspended' ? randomUUID() : repeated[number]!;
    const { bytes } = encodeEvent({ commandId, notAfter: null, requestDigest: null }, data);
    return { partition, offset: BigInt(start + at), time: 1000 + (at - (at % 3)), bytes };
  });
}

/** Two teams, and two more events of each. */
export const steps: readonly LogStep[] = [
  ['TeamCreated', 0],
  ['TeamCreated', 1],
  ['TeamSuspended', 0],
  ['TeamSuspended', 1],
  ['TeamSuspended', 0],
  ['TeamSuspended', 1],
];

/** Projects records in batches of these sizes; the last size repeats. */
export async function project(
  where: Database,
  records: readonly LogRecord[],
  sizes: readonly number[],
  listener?: ProjectionListener,
): Promise<Decided[]> {
  const projector = new Projector(models);
  const decided: Decided[] = [];
  const left = [...records];
  for (let at = 0; left.length > 0; at += 1) {
    const batch = left.splice(0, sizes[Math.min(at, sizes.length - 1)]);
    for (let todo = batch; todo.length > 0;) {
      try {
        await projectRecords(
          { database: where, projector, partition, epoch: 0n, ...(listener === undefined ? {} : { listener }) },
          todo,
          (_, one) => decided.push(one),
        );
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

/** How many events of each team are counted. */
export async function counts(where: Database): Promise<Record<string, number>> {
  const { rows } = await where.pool.query<{ team_id: string; count: number }>('select team_id, count from counters');
  return Object.fromEntries(rows.map(({ team_id: id, count }) => [id, count]));
}
