/**
 * Releases a team from quarantine: decides the held events at their own offsets, times and versions, beside the process
 * that projects the partition. The data of a team depends only on its own events, so deciding them later gives the same
 * result.
 *
 * Each step locks the progress of the partition, as storing a batch does. So steps of two releases, batches and
 * compaction never mix, and no step depends on the owner of the partition. If the read model is replaced, the next step
 * drops everything that an earlier one remembers of the old one.
 */
import type { Database } from '../../storage/database/database.ts';
import { isDatabaseAway } from '../../storage/database/database-away.ts';
import type { Tx } from '../../storage/database/pipelined-client.ts';
import { isStatementTimeout } from '../../storage/database/statement-timeout.ts';
import type { LogReader, LogRecord } from '../event-log.ts';
import { readVersions } from '../progress/advance.ts';
import { readProgressOf } from '../progress/progress.store.ts';
import { batchesOf, isConflict, withCommit, wholeOrAlone } from '../project-records.ts';
import { ProgressMoved, type Projector } from '../projector.ts';
import {
  endQuarantine,
  failQuarantine,
  findQuarantine,
  lockProgress,
  moveQuarantine,
  selectQuarantine,
  type Quarantine,
} from './quarantine.store.ts';

export interface ReleaseOptions {
  readonly database: Pick<Database, 'writers' | 'pool'>;
  readonly projector: Projector;
  readonly log: Pick<LogReader, 'read'>;
  /**
   * Called with the number of records of the partition that were processed since the release began, and their total.
   */
  readonly onProgress: (done: number, of: number) => void;
  readonly signal: AbortSignal;
}

/** A running release. */
interface Release extends ReleaseOptions {
  /** The table of progress (its OID) in the read model that the projector remembers; null: it remembers none. */
  remembered: bigint | null;
}

/** An event of the team failed again, so the team stays in quarantine from that event on. */
export class ReleaseFailed extends Error {
  override readonly name = 'ReleaseFailed';
  readonly offset: bigint;

  constructor({ partition, teamId }: Quarantine, offset: bigint, cause: Error) {
    super(
      `team ${teamId} stays in quarantine: its event at offset ${offset} of partition ${partition} cannot be projected: ${cause.message}`,
      { cause },
    );
    this.offset = offset;
  }
}

/** The maximum of records that are read while the partition is locked: about as many as one or two reads return. */
const readUnderLockMax = 500n;

/**
 * Resolves once the team is not in quarantine. Rejects with ReleaseFailed if an event still cannot be projected, with
 * the reason of `signal`, and with errors that `isDatabaseAway` recognizes. The next release continues there.
 */
export async function releaseTeam(teamId: string, options: ReleaseOptions): Promise<void> {
  const {
    database: { pool },
    signal,
    onProgress,
  } = options;
  const running: Release = { ...options, remembered: null };
  let began: bigint | null = null;
  for (;;) {
    signal.throwIfAborted();
    const quarantine = await findQuarantine(pool, teamId);
    if (quarantine === null) return;
    const { next: projected } = await readProgressOf(pool, quarantine.partition);
    began ??= quarantine.next;
    onProgress(Number(quarantine.next - began), Number(projected - began));
    try {
      if (projected - quarantine.next <= readUnderLockMax && (await finish(quarantine, running))) continue;
      await goOn(quarantine, projected, running);
    } catch (error) {
      // Another release of this team did the same, or another read model has replaced this one.
      if (!(error instanceof ProgressMoved) && !isConflict(error)) throw error;
    }
  }
}

/** Releases the next batch of the events that are held before this offset. */
async function goOn(quarantine: Quarantine, to: bigint, running: Release): Promise<void> {
  const { database, projector, log } = running;
  const { partition, next } = quarantine;
  for await (const records of log.read(partition, next, to)) {
    await wholeOrAlone(batchesOf(records)[0]!, {
      project: (some) =>
        withCommit(database, projector, async (tx) => {
          const { held } = await lock(tx, running, quarantine, some[0]!.offset);
          return { result: undefined, ...(await release(tx, quarantine, held, some, projector)) };
        }),
      projected: () => undefined,
      timedOut: () => undefined,
      failed: async ({ offset }, error) => {
        await database.writers.with((tx) => run(tx, failQuarantine(quarantine, offset, error.message)));
        throw new ReleaseFailed(quarantine, offset, error);
      },
    });
    return;
  }
}

/**
 * Releases the remaining events and ends the quarantine in one transaction, during which the partition takes no new
 * events. Returns false, and does nothing, if there are too many events or if one fails. The events before it must then
 * be released first.
 */
async function finish(quarantine: Quarantine, running: Release): Promise<boolean> {
  const { database, projector, log } = running;
  const { partition, next } = quarantine;
  let isAtEnd = false;
  try {
    return await withCommit(database, projector, async (tx) => {
      const { projected, held } = await lock(tx, running, quarantine, next);
      isAtEnd = projected === next;
      const left: LogRecord[] = [];
      if (projected - next > 2n * readUnderLockMax) return { result: false, stored: Promise.resolve() };
      for await (const records of isAtEnd ? [] : log.read(partition, next, projected)) left.push(...records);
      if (batchesOf(left).length > 1) return { result: false, stored: Promise.resolve() };
      if (!isAtEnd) await (await release(tx, quarantine, held, left, projector)).stored;
      return { result: true, stored: run(tx, endQuarantine(quarantine)) };
    });
  } catch (error) {
    const mayBeOfAnEvent =
      isStatementTimeout(error) || !(error instanceof ProgressMoved || isDatabaseAway(error) || isConflict(error));
    if (isAtEnd || !mayBeOfAnEvent) throw error;
    return false;
  }
}

/** The state of the quarantine, read under the lock. */
type Held = Pick<Quarantine, 'time' | 'versions'>;

/**
 * Locks the partition, and returns its progress. Throws ProgressMoved if the quarantine is not at `next`. If the read
 * model is not the one that the projector remembers, makes the projector forget it and throws ProgressMoved.
 */
async function lock(
  tx: Tx,
  running: Release,
  { partition, teamId }: Quarantine,
  next: bigint,
): Promise<{ readonly projected: bigint; readonly held: Held }> {
  const locking = tx.query(lockProgress, [partition]);
  const {
    rows: [found],
  } = await tx.query(selectQuarantine, [partition, teamId]);
  const { next: projected, table } = (await locking).rows[0]!;
  running.remembered ??= table;
  if (running.remembered !== table) {
    running.projector.forget();
    running.remembered = table;
    throw new ProgressMoved('the read model was replaced');
  }
  if (found?.next !== next) throw new ProgressMoved(`the quarantine of team ${teamId} is not at offset ${next}`);
  return { projected, held: { time: Number(found.time), versions: readVersions(found) } };
}

/**
 * Decides the events of the team among the records, and moves the team's quarantine past them. Resolves when all
 * statements are sent.
 */
async function release(
  tx: Tx,
  quarantine: Quarantine,
  { time, versions: before }: Held,
  records: readonly LogRecord[],
  projector: Projector,
): Promise<{ readonly stored: Promise<void> }> {
  let last = time;
  const inLogTime = records.map((record) => {
    // As in the first projection: brokers' clocks may differ, but the log's time never falls.
    last = Math.max(last, record.time);
    return { ...record, time: last };
  });
  const decided = await projector.projectHeld(tx, quarantine.teamId, inLogTime, before);
  const moved = run(tx, moveQuarantine(quarantine, inLogTime.at(-1)!, decided.versions));
  moved.catch(() => undefined);
  // If an event fails, the later statements of the transaction also fail, but their errors do not say why.
  const stored = decided.stored.then(() => moved);
  stored.catch(() => undefined);
  return { stored };
}

async function run(tx: Tx, { statement, values }: ReturnType<typeof endQuarantine>): Promise<void> {
  await tx.query(statement, values);
}
