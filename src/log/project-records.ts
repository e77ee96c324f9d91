/** Projects records that are in the log already, in transactions of their own. */
import { costOfRecord } from '../language/events/cost.ts';
import type { Database } from '../storage/database/database.ts';
import { isDatabaseAway } from '../storage/database/database-away.ts';
import { withEndedBackend } from '../storage/database/end-backend.ts';
import type { PipelinedClient } from '../storage/database/pipelined-client.ts';
import { isStatementTimeout } from '../storage/database/statement-timeout.ts';
import { begin, commit, rollback } from '../storage/database/transaction.ts';
import { teamOf } from '../language/events/event-names.ts';
import type { Decided } from './batch/decided.ts';
import { toEntry } from './batch/entry.ts';
import { withFreeKeys } from './batch/local-keys.ts';
import { ProgressMoved, type Projected, type Projector } from './projector.ts';
import type { LogRecord } from './event-log.ts';

export interface ProjectTarget {
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
  readonly partition: number;
  /** The epoch (fencing token) of the takeover of this partition. */
  readonly epoch: bigint;
  /** Hears of what operators should know. */
  readonly listener?: ProjectionListener;
}

/** Told of what goes wrong with records. Must not throw. */
export interface ProjectionListener {
  /** The team of this record is in quarantine from here on, because the record cannot be projected. */
  quarantined(record: LogRecord, teamId: string, error: Error): void;
  /** A statement for these records took longer than it may. */
  timedOut(records: readonly LogRecord[], error: Error): void;
  /**
   * Records were projected and stored, in a batch that was begun at this time (milliseconds since 1970). Absent: nobody
   * asks.
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

/** Projects records as one batch. If it rejects, nothing was stored, unless the answer to the commit was lost. */
export function projectBatch(
  { database, projector, partition, epoch }: ProjectTarget,
  records: readonly LogRecord[],
): Promise<Projected> {
  return storing(database, projector, async (tx) => {
    const projected = await projector.project(tx, partition, records, { epoch });
    return { result: projected, stored: projected.stored };
  });
}

/**
 * Commits what `work` has sent, together with it. If it rejects, nothing was stored, unless the answer to the commit
 * was lost.
 */
export function storing<T>(
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

/** What the events of a batch may cost (src/language/events/cost.ts) where nobody waits for their outcomes. */
export const batchCostMax = 16_000_000;

/** Cuts records into batches. An event that costs more than a batch may is one of its own. */
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
 * Projects records in batches of bounded cost. A batch that fails is projected record by record. The team of a record
 * that fails alone is put into quarantine, and its events are held from there on. Calls `onProjected` for each batch.
 * Rejects with ProjectionFailed for a record that is of no team, cannot be read or is of an unknown type, with
 * ProgressMoved if somebody else moved the progress, and with errors that `isDatabaseAway` or `isConflict` recognize.
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

/** What to do with records, and with one that fails alone. */
export interface Attempt<Result> {
  /** Stores all of these records, or none. */
  readonly project: (records: readonly LogRecord[]) => Promise<Result>;
  /** Called when they are stored. If it throws, no later record is tried: it is no fault of theirs. */
  readonly projected: (records: readonly LogRecord[], result: Result) => void;
  readonly timedOut: (records: readonly LogRecord[], error: Error) => void;
  /** If it rejects, no later record is tried. */
  readonly failed: (record: LogRecord, error: Error) => Promise<void>;
}

/** How often a record is tried alone whose statements take too long: Postgres may be slow for another reason. */
const timeoutsMax = 3;

/** Projects records as one batch. If that fails because of a record, or takes too long, projects each alone. */
export async function wholeOrAlone<Result>(records: readonly LogRecord[], attempt: Attempt<Result>): Promise<void> {
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

/** Puts the team of a record into quarantine. Null if that must not be. Rejects as a batch does. */
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
