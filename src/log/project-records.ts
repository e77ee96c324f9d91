/** Projects records that are already in the log, in transactions of their own. */
import { costOfRecord } from '../language/events/cost.ts';
import type { Database } from '../storage/database/database.ts';
import { isDatabaseAway } from '../storage/database/database-away.ts';
import { withEndedBackend } from '../storage/database/end-backend.ts';
import type { PipelinedClient } from '../storage/database/pipelined-client.ts';
import { isStatementTimeout } from '../storage/database/statement-timeout.ts';
import { begin, commit, rollback } from '../storage/database/transaction.ts';
import { teamOf } from '../language/events/event-names.ts';
import type { Decided } from './batch/batch.ts';
import { toEntry } from './batch/entry.ts';
import { withFreeKeys } from './batch/local-keys.ts';
import { ProgressMoved, type Projected, type Projector } from './projector.ts';
import type { LogRecord } from './event-log.ts';

export interface ProjectTarget {
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
  readonly partition: number;
  /** The epoch (fencing token) that this process got when it took the partition over. */
  readonly epoch: bigint;
  /** Notified of failures that operators should know. */
  readonly listener?: ProjectionListener;
}

/** Notified of failures with records. Must not throw. */
export interface ProjectionListener {
  /** The team of this record is in quarantine from this record on, because the record cannot be projected. */
  quarantined(record: LogRecord, teamId: string, error: Error): void;
  /** A statement for these records exceeded its time limit. */
  timedOut(records: readonly LogRecord[], error: Error): void;
  /**
   * Records were projected and stored. `began`: when their batch began, in milliseconds since 1970. Absent: not needed.
   */
  readonly projected?: ((records: readonly LogRecord[], began: number) => void) | undefined;
}

/** Called for each batch that was stored. */
type OnProjected = (records: readonly LogRecord[], decided: Decided) => void;

/** A record that cannot be projected, and does not belong to a team that could be held: a bug, or a damaged log. */
export class ProjectionFailed extends Error {
  override readonly name = 'ProjectionFailed';
  readonly offset: bigint;

  constructor(partition: number, offset: bigint, cause: unknown) {
    super(`the event at offset ${offset} of partition ${partition} cannot be projected`, { cause });
    this.offset = offset;
  }
}

/** Projects records as one batch. If it rejects, nothing was stored, except if the answer to the commit was lost. */
export function projectBatch(
  { database, projector, partition, epoch }: ProjectTarget,
  records: readonly LogRecord[],
): Promise<Projected> {
  return withCommit(database, projector, async (tx) => {
    const projected = await projector.project(tx, partition, records, { epoch });
    return { result: projected, stored: projected.stored };
  });
}

/**
 * Commits the statements that `work` has sent. If it rejects, nothing was stored, except if the answer to the commit
 * was lost.
 */
export function withCommit<T>(
  { writers }: Pick<Database, 'writers'>,
  projector: Projector,
  work: (tx: PipelinedClient) => Promise<{ readonly result: T; readonly stored: Promise<void> }>,
): Promise<T> {
  return withFreeKeys(
    () => projector.forget(),
    () =>
      withEndedBackend(writers, async (tx) => {
        void tx.query(begin);
        try {
          const { result, stored } = await work(tx);
          const committing = tx.query(commit);
          await stored;
          if ((await committing).command !== 'COMMIT') throw new Error('the transaction was rolled back');
          return result;
        } catch (error) {
          if (!tx.broken) await tx.query(rollback);
          throw error;
        }
      }),
  );
}

/** The maximum cost of a batch (src/language/events/cost.ts) when no client waits for its outcomes. */
export const batchCostMax = 16_000_000;

/** Cuts records into batches. An event that exceeds the cost of a batch is a batch of its own. */
export function batchesOf(records: readonly LogRecord[]): LogRecord[][] {
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
 * Projects records in batches of bounded cost. If a batch fails, its records are projected one by one. If a record
 * fails alone, its team goes into quarantine, and the team's events are held from there on. Calls `onProjected` for
 * each batch. Rejects with ProjectionFailed if a record belongs to no team, cannot be read or has an unknown type; with
 * ProgressMoved if another process moved the progress; and with errors that `isDatabaseAway` or `isConflict` recognize.
 */
export async function projectRecords(
  target: ProjectTarget,
  records: readonly LogRecord[],
  onProjected: OnProjected,
): Promise<void> {
  const { partition, listener } = target;
  for (const batch of batchesOf(records)) {
    await wholeOrAlone(batch, {
      project: (some) => projectBatch(target, some),
      projected: onProjected,
      timedOut: (some, error) => listener?.timedOut(some, error),
      failed: async (record, error) => {
        const held = await quarantine(target, record, error);
        if (held === null) throw new ProjectionFailed(partition, record.offset, error);
        onProjected([record], held);
      },
    });
  }
}

/** How to project records, and what to do with a record that fails alone. */
export interface RecordHandlers<Result> {
  /** Stores all of these records, or none. */
  readonly project: (records: readonly LogRecord[]) => Promise<Result>;
  /**
   * Called when the records are stored. If it throws, no later record is tried, because the records are not at fault.
   */
  readonly projected: (records: readonly LogRecord[], result: Result) => void;
  readonly timedOut: (records: readonly LogRecord[], error: Error) => void;
  /** If it rejects, no later record is tried. */
  readonly failed: (record: LogRecord, error: Error) => Promise<void>;
}

/** How often a record is tried alone if its statements time out: Postgres may be slow for another reason. */
const timeoutsMax = 3;

/** Projects records as one batch. If a record makes that fail, or it takes too long, projects each record alone. */
export async function wholeOrAlone<Result>(
  records: readonly LogRecord[],
  attempt: RecordHandlers<Result>,
): Promise<void> {
  const { project, projected, timedOut, failed } = attempt;
  for (let timeouts = 0; ;) {
    let result: Result;
    try {
      result = await project(records);
    } catch (thrown) {
      const error = thrown as Error;
      const isTimeout = isStatementTimeout(error);
      if (isTimeout) {
        timeouts += 1;
        timedOut(records, error);
      } else if (isNoBug(error)) throw error;
      if (records.length > 1) break;
      if (!isTimeout || timeouts === timeoutsMax) return await failed(records[0]!, error);
      continue;
    }
    return projected(records, result);
  }
  for (const record of records) await wholeOrAlone([record], attempt);
}

/**
 * Puts the team of a record into quarantine. Null if the team must not be put into quarantine. Rejects as a batch does.
 */
async function quarantine(
  { database, projector, epoch, listener }: ProjectTarget,
  record: LogRecord,
  error: Error,
): Promise<Decided | null> {
  let event;
  try {
    ({ event } = toEntry(record));
  } catch {
    return null;
  }
  try {
    if (!(await database.writers.with((tx) => projector.quarantine(tx, record, error.message, epoch)))) return null;
  } catch (failure) {
    if (isNoBug(failure) || isStatementTimeout(failure)) throw failure;
    return null;
  }
  listener?.quarantined(record, teamOf(event.data), error);
  return { outcomes: new Map(), held: new Set([event.commandId]) };
}

/** Serialization failures and deadlocks: nothing was stored, and a retry may succeed. */
export function isConflict(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '40001' || code === '40P01';
}

function isNoBug(error: unknown): boolean {
  return error instanceof ProgressMoved || isDatabaseAway(error) || isConflict(error);
}
