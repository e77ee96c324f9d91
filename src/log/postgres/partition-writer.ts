/**
 * Group commit for one partition of the log in Postgres: while a batch is being written, what comes in waits, and goes
 * with the next one. A batch is appended, decided and stored in one transaction, so one flush acknowledges all of it.
 */
import { bind, combine, isGuardFailure, type BoundStatement } from '../../database/combine.ts';
import type { Database } from '../../database/database.ts';
import { isDatabaseAway } from '../../database/database-away.ts';
import type { PipelinedClient } from '../../database/pipelined-client.ts';
import { findOutcomes, isDuplicateOutcome, type RecordedOutcome } from '../../../projections/outcomes/outcomes.store.ts';
import { ProgressMoved, type Duplicates, type Projected, type Projector } from '../../../projections/projector.ts';
import { AppendUnknown, NotAppended, ProjectionBug } from '../event-log.ts';
import type { Appended, EncodedEvent, LogRecord } from '../event-log.ts';
import type { LogClock } from './log-clock.ts';
import { begin, commit, endBackend, insertRecords, lockHead, moveHead, rollback } from './statements.ts';

/** What one batch may hold. */
const batchEventsMax = 500;
const batchBytesMax = 4 * 1024 * 1024;

/** After another process was met on this partition, so many batches take the lock first instead of guessing the head. */
const cautiousBatches = 16;

/** How often a batch is tried anew after it met another process or a deadlock. */
const attemptsMax = 20;

interface Written {
  readonly offset: bigint;
  readonly outcomes: Projected['outcomes'];
}

interface Waiter {
  readonly event: EncodedEvent;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: Error) => void;
}

/** The commit was sent and no answer came: it may have taken place, or may yet. */
class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
  readonly backendId: number;
  /** When it was sent, by `performance.now`. */
  readonly sent: number;

  constructor(tx: PipelinedClient, sent: number, cause: unknown) {
    super('no answer to a commit', { cause });
    this.backendId = tx.backendId;
    this.sent = sent;
  }
}

export interface PartitionWriterOptions {
  readonly partition: number;
  readonly database: Database;
  readonly projector: Projector;
  readonly clock: LogClock;
  /** Brings the read model to the head of the partition. */
  readonly catchUp: (partition: number) => Promise<void>;
  /** For how long it tries to find out what became of a commit without an answer, in milliseconds. */
  readonly unknownWait: number;
}

export class PartitionWriter {
  readonly #options: PartitionWriterOptions;
  readonly #waiting: Waiter[] = [];
  #running: Promise<void> | null = null;
  /** Where the head was after our last batch; null when that is not known. */
  #next: bigint | null = null;
  #lastTime = 0;
  #cautious = 0;

  constructor(options: PartitionWriterOptions) {
    this.#options = options;
  }

  append(event: EncodedEvent): Promise<Appended> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // One turn of the event loop, so that requests that arrived together go together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#settle(this.#takeBatch());
    // In the same turn as the look at the queue: an event that comes later finds nobody running and starts anew.
    this.#running = null;
  }

  #takeBatch(): Waiter[] {
    let bytes = 0;
    let count = 0;
    for (const { event } of this.#waiting) {
      bytes += event.bytes.length;
      if (count > 0 && (count === batchEventsMax || bytes > batchBytesMax)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /** Writes a batch and answers each of its waiters. Never rejects. */
  async #settle(batch: readonly Waiter[]): Promise<void> {
    try {
      const first = await this.#write(batch);
      batch.forEach((waiter, at) => answer(waiter, first.offset + BigInt(at), first.outcomes));
    } catch (error) {
      this.#next = null;
      if (error instanceof CommitUnknown) return this.#settleUnknown(batch, error);
      if (error instanceof NotAppended || error instanceof ProgressMoved || isDatabaseAway(error)) {
        const reason = new NotAppended('the database is away, or too many write at once', { cause: error });
        for (const waiter of batch) waiter.reject(reason);
        return;
      }
      // A bug: the events are tried one by one, so that only the one that it is about fails.
      if (batch.length > 1) {
        for (const waiter of batch) await this.#settle([waiter]);
        return;
      }
      batch[0]!.reject(new ProjectionBug('the projection failed on this event', { cause: error }));
    }
  }

  async #write(batch: readonly Waiter[]): Promise<Written> {
    let duplicates: Duplicates = 'fail';
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#options.database.writers.with((tx) => this.#attempt(tx, batch, duplicates));
      } catch (error) {
        const again = error instanceof ProgressMoved || isConflict(error) || isDuplicateOutcome(error);
        if (!again || attempt === attemptsMax) throw error;
        if (isDuplicateOutcome(error)) duplicates = 'replace';
        this.#next = null;
        this.#cautious = cautiousBatches;
      }
    }
  }

  /** Appends the batch, decides it and stores what it changes, all of it or nothing. */
  async #attempt(tx: PipelinedClient, batch: readonly Waiter[], duplicates: Duplicates): Promise<Written> {
    if (this.#next !== null && this.#cautious === 0) {
      const written = await this.#attemptAtOnce(tx, batch, this.#next, duplicates);
      if (written) return written;
    }
    return this.#attemptLocked(tx, batch, duplicates);
  }

  /**
   * The common case, two round trips: the batch is decided for the place where the head was left, and appended and
   * stored by one statement, which fails whole when the head or the progress is elsewhere by then.
   */
  async #attemptAtOnce(
    tx: PipelinedClient,
    batch: readonly Waiter[],
    offset: bigint,
    duplicates: Duplicates,
  ): Promise<Written | null> {
    const { partition, projector } = this.#options;
    const records = this.#place(batch, offset);
    const plan = await projector.plan(tx, partition, records, { duplicates });
    if (!plan) return null;
    const [moving, inserting] = appendStatements(partition, records);
    const [advancing, ...changing] = plan.statements;
    const { statement, values } = combine([moving, advancing!, inserting, ...changing], 2);
    const sent = performance.now();
    try {
      await tx.query(statement, values);
    } catch (error) {
      if (tx.broken || isDatabaseAway(error)) throw new CommitUnknown(tx, sent, error);
      if (isGuardFailure(error)) throw new ProgressMoved(`the head of partition ${partition} has moved`);
      throw error;
    }
    plan.committed();
    this.#next = offset + BigInt(records.length);
    return { offset, outcomes: plan.outcomes };
  }

  /** Takes the head's lock first: where other processes write too, and where a batch takes more than one statement. */
  async #attemptLocked(tx: PipelinedClient, batch: readonly Waiter[], duplicates: Duplicates): Promise<Written> {
    const { partition, projector } = this.#options;
    void tx.query(begin);
    let sent: number | null = null;
    try {
      const offset = await this.#takeHead(tx);
      if (this.#cautious > 0) this.#cautious -= 1;
      const records = this.#place(batch, offset);
      const append = combine(appendStatements(partition, records), 1);
      const appending = tx.query(append.statement, append.values);
      const { outcomes, stored } = await projector.project(tx, partition, records, { duplicates });
      await appending;
      sent = performance.now();
      const committing = tx.query(commit);
      await stored;
      if ((await committing).command !== 'COMMIT') throw new Error('the transaction was rolled back');
      this.#next = offset + BigInt(records.length);
      return { offset, outcomes };
    } catch (error) {
      // A connection that is ended may say so behind a commit that took place and before its answer.
      if (sent !== null && (tx.broken || isDatabaseAway(error))) throw new CommitUnknown(tx, sent, error);
      if (tx.broken) throw error;
      if (sent === null) await tx.query(rollback);
      throw error;
    }
  }

  /** The batch as records from this offset on. */
  #place(batch: readonly Waiter[], offset: bigint): LogRecord[] {
    this.#lastTime = Math.max(this.#lastTime, this.#options.clock.now());
    const time = this.#lastTime;
    return batch.map(({ event }, at) => ({
      partition: this.#options.partition, offset: offset + BigInt(at), time, bytes: event.bytes,
    }));
  }

  /** Locks the head, so that nobody else can move it, and has the read model brought there first where it is behind. */
  async #takeHead(tx: PipelinedClient): Promise<bigint> {
    const { partition, clock, catchUp } = this.#options;
    const { rows } = await tx.query(lockHead, [partition]);
    const [next, time, serverTime, projected] = rows[0]!;
    clock.set(Number(serverTime));
    this.#lastTime = Number(time);
    if (projected !== next) {
      await tx.query(rollback);
      await catchUp(partition);
      throw new ProgressMoved(`the read model of partition ${partition} was behind its log`);
    }
    return next as bigint;
  }

  /** Finds out what became of a batch, and answers each of its waiters. Never rejects. */
  async #settleUnknown(batch: readonly Waiter[], unknown: CommitUnknown): Promise<void> {
    const { database, unknownWait } = this.#options;
    const deadline = performance.now() + unknownWait;
    while (performance.now() < deadline) {
      try {
        const known = await database.writers.with((tx) => this.#findCommitted(tx, batch, unknown));
        if (known === null) continue;
        for (const waiter of batch) {
          const recorded = known.get(waiter.event.commandId);
          if (recorded) waiter.resolve({ offset: recorded.offset, outcome: recorded.outcome });
          else waiter.reject(new NotAppended('the database went away before the commit'));
        }
        return;
      } catch (error) {
        if (!isDatabaseAway(error)) {
          for (const waiter of batch) waiter.reject(new ProjectionBug('no outcome could be read', { cause: error }));
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
    for (const waiter of batch) waiter.reject(new AppendUnknown('the database went away during the commit'));
  }

  /**
   * The outcomes of a batch, by command ID: once its connection's process is gone, and the head can be locked, it has
   * been committed or never will be. Null while that process still lives.
   */
  async #findCommitted(
    tx: PipelinedClient,
    batch: readonly Waiter[],
    { backendId, sent }: CommitUnknown,
  ): Promise<ReadonlyMap<string, RecordedOutcome> | null> {
    const { partition } = this.#options;
    const ended = await tx.query(endBackend, [backendId, (performance.now() - sent) / 1000]);
    if (ended.rows[0]?.[0] === false) return null;
    void tx.query(begin);
    await tx.query(lockHead, [partition]);
    const outcomes = await findOutcomes(tx, partition, batch.map(({ event }) => event.commandId));
    await tx.query(rollback);
    return new Map(outcomes.map((outcome) => [outcome.commandId, outcome]));
  }
}

function answer(waiter: Waiter, offset: bigint, outcomes: Projected['outcomes']): void {
  const outcome = outcomes.get(waiter.event.commandId);
  if (outcome) waiter.resolve({ offset, outcome });
  else waiter.reject(new NotAppended('the request waited too long before it reached the log'));
}

/** Moves the head, and writes the records. */
function appendStatements(partition: number, records: readonly LogRecord[]): [BoundStatement, BoundStatement] {
  const { offset, time } = records[0]!;
  const lengths = records.map(({ bytes }) => bytes.length);
  let first = 1;
  const firsts = lengths.map((length) => {
    const at = first;
    first += length;
    return at;
  });
  const bytes = Buffer.concat(records.map((record) => record.bytes));
  return [
    bind(moveHead, [partition, offset, offset + BigInt(records.length), time]),
    bind(insertRecords, [partition, offset, time, lengths, bytes, firsts]),
  ];
}

/** Serialization failures and deadlocks: nothing happened, and trying again helps. */
function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === '40001' || code === '40P01';
}
