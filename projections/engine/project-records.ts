/** Projects records that are in the log already, in transactions of their own. */
import { costOfRecord } from '../../src/events/cost.ts';
import type { Database } from '../../src/database/database.ts';
import { isDatabaseAway } from '../../src/database/database-away.ts';
import { begin, commit, rollback } from '../../src/database/transaction.ts';
import { withFreeKeys } from './local-keys.ts';
import { ProgressMoved, type Projected, type Projector } from './projector.ts';
import type { LogRecord } from '../../src/log/event-log.ts';

export interface ProjectTarget {
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
  readonly partition: number;
  /** The epoch (fencing token) of the takeover of this partition. */
  readonly epoch: bigint;
}

/** Called for each batch that was stored. */
export type OnProjected = (records: readonly LogRecord[], projected: Projected) => void;

/** A record that cannot be projected: a bug, or a damaged log. */
export class ProjectionFailed extends Error {
  override readonly name = 'ProjectionFailed';
  readonly offset: bigint;

  constructor(partition: number, offset: bigint, cause: unknown) {
    super(`the event at offset ${offset} of partition ${partition} cannot be projected`, { cause });
    this.offset = offset;
  }
}

/** Projects records as one batch. If it rejects, nothing was stored, unless the answer to the commit was lost. */
export function projectBatch({ database, projector, partition, epoch }: ProjectTarget, records: readonly LogRecord[]): Promise<Projected> {
  return withFreeKeys(() => projector.forget(), () => database.writers.with(async (tx) => {
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
  }));
}

/** What the events of a batch may cost (src/events/cost.ts) where nobody waits for their outcomes. */
const batchCostMax = 16_000_000;

/** Cuts records into batches. An event that costs more than a batch may is one of its own. */
function batchesOf(records: readonly LogRecord[]): LogRecord[][] {
  const batches: LogRecord[][] = [];
  let cost = Infinity;
  for (const record of records) {
    const added = costOfRecord(record.bytes);
    if (cost + added > batchCostMax) {
      batches.push([]);
      cost = 0;
    }
    batches.at(-1)!.push(record);
    cost += added;
  }
  return batches;
}

/**
 * Projects records in batches of bounded cost. A batch that fails is projected record by record, so
 * that everything before the faulty record is stored. Calls `onProjected` for each batch. Rejects with ProjectionFailed for the faulty
 * record, with ProgressMoved if somebody else moved the progress, and with errors that `isDatabaseAway` or `isConflict` recognize.
 */
export async function projectRecords(
  target: ProjectTarget,
  records: readonly LogRecord[],
  onProjected: OnProjected,
): Promise<void> {
  for (const batch of batchesOf(records)) await projectOrSplit(target, batch, onProjected);
}

async function projectOrSplit(target: ProjectTarget, records: readonly LogRecord[], onProjected: OnProjected): Promise<void> {
  let projected: Projected;
  try {
    projected = await projectBatch(target, records);
  } catch (error) {
    if (isNoBug(error)) throw error;
    if (records.length === 1) throw new ProjectionFailed(target.partition, records[0]!.offset, error);
    for (const record of records) await projectOrSplit(target, [record], onProjected);
    return;
  }
  onProjected(records, projected);
}

/** Serialization failures and deadlocks: nothing was stored, and a retry may succeed. */
export function isConflict(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '40001' || code === '40P01';
}

function isNoBug(error: unknown): boolean {
  return error instanceof ProgressMoved || isDatabaseAway(error) || isConflict(error);
}
