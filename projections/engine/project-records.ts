/** Projecting records that lie in the log already, in transactions of their own. */
import { isImport } from '../../src/events/record-header.ts';
import type { Database } from '../../src/database/database.ts';
import { isDatabaseAway } from '../../src/database/database-away.ts';
import { begin, commit, rollback } from '../../src/database/transaction.ts';
import { ProgressMoved, type Projected, type Projector } from './projector.ts';
import type { LogRecord } from '../../src/log/event-log.ts';

export interface ProjectTarget {
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
  readonly partition: number;
  /** What the partition was taken over with. */
  readonly epoch: bigint;
}

/** A record that cannot be projected: a bug, or a log that was damaged. */
export class ProjectionFailed extends Error {
  override readonly name = 'ProjectionFailed';
  readonly offset: bigint;

  constructor(partition: number, offset: bigint, cause: unknown) {
    super(`the event at offset ${offset} of partition ${partition} cannot be projected`, { cause });
    this.offset = offset;
  }
}

/** Projects records as one batch. Nothing has happened when it rejects, unless the answer to the commit was lost. */
export function projectBatch(target: ProjectTarget, records: readonly LogRecord[]): Promise<Projected> {
  const { database, projector, partition, epoch } = target;
  return database.writers.with(async (tx) => {
    void tx.query(begin);
    try {
      const projected = await projector.project(tx, partition, records, { epoch });
      const committing = tx.query(commit);
      await projected.stored;
      if ((await committing).command !== 'COMMIT') throw new Error('the transaction was rolled back');
      return projected;
    } catch (error) {
      if (!tx.broken) await tx.query(rollback);
      throw error;
    }
  });
}

/**
 * Projects records as one batch, or several where imports are among them, and one by one when they fail together, so that what
 * comes before the one that cannot be projected is. `onProjected` hears of each batch. Rejects with ProjectionFailed for that one, with ProgressMoved when
 * somebody else has moved the progress, and with what `isDatabaseAway` or `isConflict` know.
 */
export async function projectRecords(
  target: ProjectTarget,
  records: readonly LogRecord[],
  onProjected: (records: readonly LogRecord[], projected: Projected) => void,
): Promise<void> {
  const end = records.findIndex(({ bytes }) => isImport(bytes)) + 1;
  if (end > 0 && end < records.length) {
    await projectRecords(target, records.slice(0, end), onProjected);
    return projectRecords(target, records.slice(end), onProjected);
  }
  let projected: Projected;
  try {
    projected = await projectBatch(target, records);
  } catch (error) {
    if (isNoBug(error)) throw error;
    if (records.length === 1) throw new ProjectionFailed(target.partition, records[0]!.offset, error);
    for (const record of records) await projectRecords(target, [record], onProjected);
    return;
  }
  onProjected(records, projected);
}

/** Serialization failures and deadlocks: nothing happened, and trying again helps. */
export function isConflict(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '40001' || code === '40P01';
}

function isNoBug(error: unknown): boolean {
  return error instanceof ProgressMoved || isDatabaseAway(error) || isConflict(error);
}
