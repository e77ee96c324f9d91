/**
 * Group commit for one partition of the log in Postgres. A batch is appended, decided and stored by one statement or in
 * one transaction, so one flush acknowledges all of it. While a batch is in flight, the next one is gathered and
 * decided speculatively, as if the first had landed; storing it checks that assumption.
 *
 * If the read model is behind the log, because other processes also append, the missing records are projected together
 * with the batch, under the lock of the head. So no process can overtake it, however much the others write.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type EncodedEvent } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';
import { combine, isGuardFailure } from '../../storage/database/combine.ts';
import type { Database } from '../../storage/database/database.ts';
import { isDatabaseAway } from '../../storage/database/database-away.ts';
import { withEndedBackend } from '../../storage/database/end-backend.ts';
import { HistoryChanged } from '../../storage/database/history.ts';
import type { PipelinedClient } from '../../storage/database/pipelined-client.ts';
import { isStatementTimeout } from '../../storage/database/statement-timeout.ts';
import { begin, commit, rollback } from '../../storage/database/transaction.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import { AppendUnknown, NotAppended, ProjectionBug, tooLate, type LogRecord } from '../event-log.ts';
import type { LogClock } from '../log-clock.ts';
import type { LogObserver } from '../log-observer.ts';
import { appendStatements, lockHead } from './statements.ts';
import { isLogClosed } from './log-place.ts';
import { readSome } from './postgres-reader.ts';
import type { Duplicates, Decided } from '../batch/batch.ts';
import { isKeyTaken } from '../batch/local-keys.ts';
import { isDuplicateOutcome } from '../outcomes/outcomes.store.ts';
import { PartitionBatches } from '../batch/partition-batches.ts';
import { batchesOf, isConflict } from '../project-records.ts';
import { heldMessage } from '../quarantine/held-teams.ts';
import { ProgressMoved, type Projector } from '../projector.ts';
import type { SpeculativeBatch } from '../batch/speculative-batch.ts';
import { CommitUnknown, findCommitted, type Fate } from './unknown-commit.ts';

/**
 * After another process has written to this partition, this many batches lock the head first instead of guessing it.
 */
const cautiousBatches = 16;

/** How long to wait before the result of an unanswered commit is looked up again, in milliseconds. */
const unknownDelay = 200;

/** How often a batch is retried after it met another process or a deadlock. */
const attemptsMax = 20;

interface Waiter {
  readonly event: EncodedEvent;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

interface LockedOptions {
  readonly duplicates: Duplicates;
  /** The same batch, decided ahead, if it could not be stored; null: it was not decided ahead. */
  readonly missed: SpeculativeBatch | null;
  /** Whether to project a part of the missing records if all are too many for one transaction. */
  readonly inParts: boolean;
}

/**
 * The read model is behind the log by more records than one transaction should project, or by records that fail in one.
 * `catchUp` brings it to the end, without the lock of the head and without a connection for which others wait.
 */
class Behind extends Error {
  override readonly name = 'Behind';

  constructor(partition: number, cause?: unknown) {
    super(`the read model of partition ${partition} is behind its log`, { cause });
  }
}

/**
 * The progress is past the end of the log in Postgres: the log has moved to Kafka, and this process does not know yet.
 */
class LogElsewhere extends Error {
  override readonly name = 'LogElsewhere';

  constructor(partition: number) {
    super(`more of partition ${partition} is projected than the log in Postgres has`);
  }
}

interface PartitionWriterOptions {
  readonly partition: number;
  /**
   * The epoch of the read model. If another read model replaces it, that one has another epoch. So a batch that was
   * decided on this one cannot be stored there.
   */
  readonly epoch: bigint;
  readonly database: Database;
  readonly projector: Projector;
  readonly clock: LogClock;
  /** Projects the log up to the present head of the partition. Uses connections of its own. */
  readonly catchUp: (partition: number) => Promise<void>;
  /** Called when a batch is stored. `next`: the offset after it. */
  readonly onLanded: (partition: number, next: bigint) => void;
  /** How long to look for the result of an unanswered commit, in milliseconds. */
  readonly unknownWait: number;
  readonly observer: LogObserver;
}

export class PartitionWriter {
  readonly #options: PartitionWriterOptions;
  readonly #batches: PartitionBatches<Waiter>;
  #lastTime = 0;
  #cautious = 0;

  constructor(options: PartitionWriterOptions) {
    this.#options = options;
    const { partition, epoch, database, projector } = options;
    this.#batches = new PartitionBatches({
      partition,
      database,
      projector,
      epoch,
      costOf: ({ event }) => event.cost,
      ownerOf: ({ event: { event } }) => teamOf(event.data),
      timeNow: () => this.#timeNow(),
      place: (waiters, offset, time) => this.#place(waiters, offset, time),
      maySpeculate: () => this.#cautious === 0,
      store: ({ items, speculative }) => this.#settle(items, speculative),
    });
  }

  append(event: EncodedEvent): Promise<Outcome> {
    return new Promise((resolve, reject) => this.#batches.push([{ event, resolve, reject }]));
  }

  /** Settles when no event waits. */
  async idle(): Promise<void> {
    await this.#batches.idle();
  }

  /** The lowest possible time of the next record: the log's time never falls, whatever the clock does. */
  nextTime(): number {
    return Math.max(this.#lastTime, this.#options.clock.now());
  }

  /** Records that a record of this partition has this time. */
  noteTime(time: number): void {
    this.#lastTime = Math.max(this.#lastTime, time);
  }

  #timeNow(): number {
    this.#lastTime = this.nextTime();
    return this.#lastTime;
  }

  /** Writes a batch and answers its waiters. Resolves to whether it landed as it was decided ahead. Never rejects. */
  async #settle(batch: readonly Waiter[], speculative: SpeculativeBatch | null): Promise<boolean> {
    const { observer, partition } = this.#options;
    const began = Date.now();
    try {
      const decided = await this.#write(batch, speculative);
      observer.batchAppended(batch.length);
      observer.batchProjected(batch.length);
      observer.recordsProjected?.(
        batch.map(({ event: { bytes } }) => ({ partition, bytes })),
        began,
      );
      for (const waiter of batch) answer(waiter, decided);
      return decided === speculative;
    } catch (error) {
      this.#batches.lost();
      if (isStatementTimeout(error)) observer.projectionTimedOut();
      if (error instanceof CommitUnknown) await this.#settleUnknown(batch, error);
      else if (isLogClosed(error) || error instanceof LogElsewhere)
        for (const waiter of batch)
          waiter.reject(new NotAppended('the log is moving or has moved to Kafka', { cause: error }));
      else if (isStatementTimeout(error)) await this.#settleSlow(batch, error);
      else if (error instanceof NotAppended || error instanceof ProgressMoved || isDatabaseAway(error)) {
        const reason = new NotAppended('the database is away, or too many writes compete', { cause: error });
        for (const waiter of batch) waiter.reject(reason);
      } else if (batch.length === 1) {
        batch[0]!.reject(new ProjectionBug('the projection failed on this event', { cause: error }));
      } else {
        // A bug: the events are retried one by one, so that only the faulty one fails.
        for (const waiter of batch) await this.#settle([waiter], null);
      }
      return false;
    }
  }

  /** Handles a batch that was not stored because its statements took too long. */
  async #settleSlow(batch: readonly Waiter[], cause: unknown): Promise<void> {
    if (batch.length === 1)
      batch[0]!.reject(new NotAppended('the event takes longer to store than a statement may', { cause }));
    else for (const waiter of batch) await this.#settle([waiter], null);
  }

  async #write(batch: readonly Waiter[], speculative: SpeculativeBatch | null): Promise<Decided> {
    const {
      partition,
      database: { writers },
      catchUp,
    } = this.#options;
    let duplicates: Duplicates = 'fail';
    let inParts = false;
    // A speculative batch that failed. Only a look under the lock shows why.
    let missed: SpeculativeBatch | null = null;
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (speculative && attempt === 1)
          return await writers.with((tx) => this.#writeSpeculative(tx, batch, speculative));
        // If the commit is not answered, the search for it ends the backend of this connection.
        const written = await withEndedBackend(writers, (tx) =>
          this.#writeLocked(tx, batch, { duplicates, missed, inParts }).catch(returnUnknown),
        );
        if (written instanceof CommitUnknown) throw written;
        if (written !== null) return written;
        // Only a part of the missing records was projected. Each time it is more than others can append meanwhile.
        attempt -= 1;
      } catch (error) {
        if (isDuplicateOutcome(error)) duplicates = 'replace';
        else if (isKeyTaken(error)) this.#options.projector.forget();
        else if (!(error instanceof Behind) && !(error instanceof ProgressMoved) && !isConflict(error)) throw error;
        if (attempt === attemptsMax) throw error;
        if (error instanceof Behind) {
          await catchUp(partition);
          inParts = true;
        }
        this.#batches.lost();
        if (error instanceof ProgressMoved && speculative && attempt === 1) missed = speculative;
        else this.#cautious = cautiousBatches;
      }
    }
  }

  /**
   * The common case: one statement appends and stores a batch that was decided ahead. If the head or the progress has
   * moved, the whole statement fails.
   */
  async #writeSpeculative(
    tx: PipelinedClient,
    batch: readonly Waiter[],
    speculative: SpeculativeBatch,
  ): Promise<Decided> {
    const { partition } = this.#options;
    const [moving, inserting] = appendStatements(partition, speculative.records);
    const [advancing, ...changing] = await speculative.statements();
    const { statement, values } = combine([moving, advancing!, inserting, ...changing], 2);
    const sent = performance.now();
    try {
      await tx.query(statement, values);
    } catch (error) {
      if (tx.broken || isDatabaseAway(error)) throw new CommitUnknown(tx, sent, speculative.records, error);
      if (isGuardFailure(error)) throw new ProgressMoved(`the head of partition ${partition} has moved`);
      throw error;
    }
    this.#landed(speculative.records);
    return speculative;
  }

  /**
   * Locks the head first: if other processes also write, if a batch needs more than one statement, or after a
   * speculative batch failed. Projects the records of other processes together with the batch. Resolves to null if
   * these were too many: then some of them are projected, and the batch is not written yet. If `catchUp` has to come
   * first, throws Behind and writes nothing.
   */
  async #writeLocked(tx: PipelinedClient, batch: readonly Waiter[], options: LockedOptions): Promise<Decided | null> {
    const { missed, inParts } = options;
    const { partition, projector, epoch, observer } = this.#options;
    void tx.query(begin);
    let sent: number | null = null;
    let records: readonly LogRecord[] = [];
    let missing: readonly LogRecord[] = [];
    try {
      const { next: offset, layout, projected } = await this.#lockHead(tx);
      // The log has moved to Kafka, and other processes project records that this log does not have.
      if (projected > offset) throw new LogElsewhere(partition);
      if (projected !== offset) missing = await this.#readMissing(tx, projected, offset);
      const isAll = projected + BigInt(missing.length) === offset;
      if (missing.length > 0) this.#cautious = cautiousBatches;
      if (!isAll && !inParts) throw new Behind(partition);
      if (missed !== null && offset !== missed.records[0]!.offset) this.#cautious = cautiousBatches;
      // The head is where it was expected, and the layout is unchanged. So Postgres lost commits, and other processes
      // wrote in their place.
      else if (missed !== null && layout === missed.layout) projector.forget();
      if (this.#cautious > 0) this.#cautious -= 1;
      if (isAll) records = this.#place(batch, offset, this.#timeNow());
      const appending = records.length === 0 ? Promise.resolve() : this.#append(tx, records);
      // Some of the other processes' records may be attempts of the same commands.
      const duplicates = missing.length > 0 ? 'replace' : options.duplicates;
      const { outcomes, held, stored } = await projector
        .project(tx, partition, [...missing, ...records], { epoch, duplicates })
        .catch(async (error: unknown) => {
          // A failure that came earlier in the transaction is the cause.
          await appending;
          throw error;
        });
      await appending;
      if (isAll) sent = performance.now();
      const committing = tx.query(commit);
      await stored;
      if ((await committing).command !== 'COMMIT') throw new Error('the transaction was rolled back');
      if (missing.length > 0) observer.batchProjected(missing.length);
      if (!isAll) return null;
      this.#landed(records);
      this.#batches.landed(records.at(-1)!);
      return { outcomes, held };
    } catch (error) {
      // If a connection ends, this error may come although the commit succeeded, before its answer arrives.
      if (sent !== null && (tx.broken || isDatabaseAway(error))) throw new CommitUnknown(tx, sent, records, error);
      if (sent === null && !tx.broken) await tx.query(rollback);
      throw missing.length > 0 && isFaultOfRecord(error) ? new Behind(partition, error) : error;
    }
  }

  #landed(records: readonly LogRecord[]): void {
    this.#options.onLanded(this.#options.partition, records.at(-1)!.offset + 1n);
  }

  /** The batch as records from this offset on. */
  #place(batch: readonly Waiter[], offset: bigint, time: number): LogRecord[] {
    const { partition } = this.#options;
    return batch.map(({ event: { bytes, event } }, at) => ({
      partition,
      offset: offset + BigInt(at),
      time,
      bytes,
      event,
    }));
  }

  /**
   * The rejection of this promise never counts as unhandled (`PipelinedClient.query`). The projection sent after it may
   * fail first, and is awaited first.
   */
  #append(tx: PipelinedClient, records: readonly LogRecord[]): Promise<unknown> {
    const { statement, values } = combine(appendStatements(this.#options.partition, records), 1);
    return tx.query(statement, values);
  }

  /** Locks the head. */
  async #lockHead(
    tx: PipelinedClient,
  ): Promise<{ readonly next: bigint; readonly layout: bigint; readonly projected: bigint }> {
    const { partition, clock } = this.#options;
    const { rows } = await tx.query(lockHead, [partition]);
    const { next, time, serverTime, projected, layout } = rows[0]!;
    clock.set(Number(serverTime));
    this.#lastTime = Number(time);
    return { next, layout, projected };
  }

  /**
   * The records that other processes have appended and this read model lacks: all of them, or the first ones, as many
   * as one transaction should project.
   */
  async #readMissing(tx: PipelinedClient, projected: bigint, next: bigint): Promise<readonly LogRecord[]> {
    return batchesOf(await readSome(tx, this.#options.partition, projected, next))[0]!;
  }

  /** Finds out whether a batch was committed, and answers its waiters. Never rejects. */
  async #settleUnknown(batch: readonly Waiter[], unknown: CommitUnknown): Promise<void> {
    const { partition, database, unknownWait } = this.#options;
    const commandIds = batch.map(({ event }) => event.commandId);
    const deadline = performance.now() + unknownWait;
    while (performance.now() < deadline) {
      try {
        const known = await database.writers.with((tx) => findCommitted(tx, partition, commandIds, unknown));
        if (known !== null) {
          batch.forEach((waiter, at) => settleKnown(waiter, known[at]!));
          const left = batch.filter((_, at) => known[at] === null);
          if (isStatementTimeout(unknown)) await this.#settleSlow(left, unknown);
          else for (const waiter of left) waiter.reject(new NotAppended('the database went away before the commit'));
          return;
        }
      } catch (error) {
        if (!isDatabaseAway(error)) {
          for (const waiter of batch) waiter.reject(new ProjectionBug('no outcome could be read', { cause: error }));
          return;
        }
        // This process can never find out.
        if (error instanceof HistoryChanged) break;
      }
      await sleep(unknownDelay);
    }
    for (const waiter of batch) waiter.reject(new AppendUnknown('the database went away during the commit'));
  }
}

/** Whether a single record may have caused the error. Only `catchUp` can find that record. */
function isFaultOfRecord(error: unknown): boolean {
  return (
    isStatementTimeout(error) ||
    !(error instanceof ProgressMoved || isConflict(error) || isKeyTaken(error) || isDatabaseAway(error))
  );
}

function settleKnown({ event: { event }, resolve, reject }: Waiter, fate: Fate): void {
  if (fate === 'held') reject(new AppendUnknown(heldMessage(event.data)));
  else if (fate !== null) resolve(fate);
}

function returnUnknown(error: unknown): CommitUnknown {
  if (error instanceof CommitUnknown) return error;
  throw error;
}

function answer(waiter: Waiter, { outcomes, held }: Decided): void {
  const { commandId, event } = waiter.event;
  const outcome = outcomes.get(commandId);
  if (outcome) waiter.resolve(outcome);
  else if (held.has(commandId)) waiter.reject(new AppendUnknown(heldMessage(event.data)));
  else waiter.reject(tooLate());
}
