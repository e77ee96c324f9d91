/**
 * Group commit for one partition of the log in Postgres. A batch is appended, decided and stored by one statement or in
 * one transaction, so one flush acknowledges all of it. While a batch is in flight the next one is gathered and decided
 * ahead, as if that one had landed already; what this rests on is checked when it is stored.
 */
import { bind, combine, isGuardFailure, type BoundStatement } from '../../database/combine.ts';
import type { Database } from '../../database/database.ts';
import { isDatabaseAway } from '../../database/database-away.ts';
import { isImport } from '../../events/record-header.ts';
import type { Outcome } from '../../events/outcome.ts';
import type { PipelinedClient } from '../../database/pipelined-client.ts';
import { begin, commit, rollback } from '../../database/transaction.ts';
import type { BatchMemory } from '../../../projections/batch-memory.ts';
import type { Duplicates } from '../../../projections/batch.ts';
import { isDuplicateOutcome } from '../../../projections/outcomes/outcomes.store.ts';
import { ProgressMoved, type Draft, type Projected, type Projector } from '../../../projections/projector.ts';
import { BatchPipeline } from '../batch-pipeline.ts';
import { AppendUnknown, NotAppended, ProjectionBug, tooLate } from '../event-log.ts';
import type { EncodedEvent, LogRecord } from '../event-log.ts';
import type { LogClock } from '../log-clock.ts';
import type { LogObserver } from '../log-observer.ts';
import { isConflict } from '../project-records.ts';
import { insertRecord, insertRecords, lockHead, moveHead } from './statements.ts';
import { CommitUnknown, findCommitted } from './unknown-commit.ts';

/** What one batch may hold. */
const batchEventsMax = 500;
const batchBytesMax = 4 * 1024 * 1024;

/** After another process was met on this partition, so many batches take the lock first instead of guessing the head. */
const cautiousBatches = 16;

/** How often a batch is tried anew after it met another process or a deadlock. */
const attemptsMax = 20;

interface Waiter {
  readonly event: EncodedEvent;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** A batch in the making. */
interface Gathered {
  readonly waiters: Waiter[];
  bytes: number;
  /** Whether the last of them is an import: there is no room behind it. */
  endsWithImport: boolean;
  /** The time of its records. */
  time: number;
  /** What it comes to if the head is where it is expected; null when that cannot be said ahead. */
  draft: Draft | null;
}

interface LockedOptions {
  readonly duplicates: Duplicates;
  /** Where the head would be if nobody else had written; null where that is not asked. */
  readonly expected: bigint | null;
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
  readonly observer: LogObserver;
}

export class PartitionWriter {
  readonly #options: PartitionWriterOptions;
  readonly #pipeline: BatchPipeline<Waiter, Gathered>;
  /** Where the head is when the batches so far have landed, and what is known then; null when that cannot be said. */
  #ahead: { readonly next: bigint; readonly memory: BatchMemory | null } | null = null;
  #lastTime = 0;
  #cautious = 0;

  constructor(options: PartitionWriterOptions) {
    this.#options = options;
    this.#pipeline = new BatchPipeline({
      open: () => this.#open(),
      hasRoom,
      put: (gathered, waiter) => {
        gathered.waiters.push(waiter);
        gathered.bytes += waiter.event.bytes.length;
        gathered.endsWithImport = isImport(waiter.event.bytes);
      },
      plan: (gathered, waiters) => this.#plan(gathered, waiters),
      replan: async (gathered, asPlanned) => {
        if (asPlanned && gathered.draft !== null) return;
        this.#beginDraft(gathered);
        await this.#plan(gathered, gathered.waiters);
      },
      store: ({ waiters, draft }) => {
        if (draft) this.#ahead = { next: draft.end, memory: draft.memory() };
        return this.#settle(waiters, draft);
      },
      rest: () => this.#ahead?.memory?.forgetLast(),
    });
  }

  append(event: EncodedEvent): Promise<Outcome> {
    return new Promise((resolve, reject) => this.#pipeline.push([{ event, resolve, reject }]));
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#pipeline.idle();
  }

  #open(): Gathered {
    const gathered: Gathered = { waiters: [], bytes: 0, endsWithImport: false, time: 0, draft: null };
    this.#beginDraft(gathered);
    return gathered;
  }

  #beginDraft(gathered: Gathered): void {
    const { partition, clock, projector } = this.#options;
    this.#lastTime = Math.max(this.#lastTime, clock.now());
    const ahead = this.#cautious === 0 ? this.#ahead : null;
    gathered.time = this.#lastTime;
    gathered.draft = ahead && projector.draft(partition, ahead.next, ahead);
  }

  /** Decides what was added to a batch. */
  async #plan(gathered: Gathered, waiters: readonly Waiter[]): Promise<void> {
    const { draft, time } = gathered;
    if (draft === null) return;
    const records = this.#place(waiters, draft.end, time);
    try {
      await this.#options.database.writers.with((tx) => draft.add(tx, records));
    } catch {
      // Whatever failed fails again, and is dealt with, when the batch is projected under the lock.
      gathered.draft = null;
    }
  }

  /** Writes a batch and answers each of its waiters. Never rejects; tells whether it was written as in the draft. */
  async #settle(batch: readonly Waiter[], draft: Draft | null): Promise<boolean> {
    const { observer } = this.#options;
    try {
      const outcomes = await this.#write(batch, draft);
      observer.batchAppended(batch.length);
      observer.batchProjected(batch.length);
      for (const waiter of batch) answer(waiter, outcomes);
      return outcomes === draft?.outcomes;
    } catch (error) {
      this.#ahead = null;
      if (error instanceof CommitUnknown) await this.#settleUnknown(batch, error);
      else if (error instanceof NotAppended || error instanceof ProgressMoved || isDatabaseAway(error)) {
        const reason = new NotAppended('the database is away, or too many write at once', { cause: error });
        for (const waiter of batch) waiter.reject(reason);
      } else if (batch.length === 1) {
        batch[0]!.reject(new ProjectionBug('the projection failed on this event', { cause: error }));
      } else {
        // A bug: the events are tried one by one, so that only the one that it is about fails.
        for (const waiter of batch) await this.#settle([waiter], null);
      }
      return false;
    }
  }

  async #write(batch: readonly Waiter[], draft: Draft | null): Promise<Projected['outcomes']> {
    let duplicates: Duplicates = 'fail';
    // Where a draft was to stand that did not hold. Only under the lock can be seen why.
    let missed: bigint | null = null;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#options.database.writers.with((tx) => {
          if (draft && attempt === 1) return this.#writeDraft(tx, batch, draft);
          return this.#writeLocked(tx, batch, { duplicates, expected: missed });
        });
      } catch (error) {
        const again = error instanceof ProgressMoved || isConflict(error) || isDuplicateOutcome(error);
        if (!again || attempt === attemptsMax) throw error;
        if (isDuplicateOutcome(error)) duplicates = 'replace';
        this.#ahead = null;
        if (error instanceof ProgressMoved && draft && attempt === 1) missed = draft.records[0]!.offset;
        else this.#cautious = cautiousBatches;
      }
    }
  }

  /**
   * The common case: one statement appends and stores what was decided ahead. It fails whole when the head or the progress
   * is elsewhere by then.
   */
  async #writeDraft(tx: PipelinedClient, batch: readonly Waiter[], draft: Draft): Promise<Projected['outcomes']> {
    const { partition } = this.#options;
    const [moving, inserting] = appendStatements(partition, draft.records);
    const [advancing, ...changing] = draft.statements();
    const { statement, values } = combine([moving, advancing!, inserting, ...changing], 2);
    const sent = performance.now();
    try {
      await tx.query(statement, values);
    } catch (error) {
      if (tx.broken || isDatabaseAway(error)) throw new CommitUnknown(tx, sent, error);
      if (isGuardFailure(error)) throw new ProgressMoved(`the head of partition ${partition} has moved`);
      throw error;
    }
    return draft.outcomes;
  }

  /**
   * Takes the head's lock first: where other processes write too, where a batch takes more than one statement, and where a
   * draft did not hold.
   */
  async #writeLocked(tx: PipelinedClient, batch: readonly Waiter[], options: LockedOptions): Promise<Projected['outcomes']> {
    const { duplicates, expected } = options;
    const { partition, projector } = this.#options;
    void tx.query(begin);
    let sent: number | null = null;
    try {
      const offset = await this.#takeHead(tx);
      // Where the head is as expected nobody else has written: rows were moved, which ends with this batch.
      if (expected !== null && offset !== expected) this.#cautious = cautiousBatches;
      if (this.#cautious > 0) this.#cautious -= 1;
      this.#lastTime = Math.max(this.#lastTime, this.#options.clock.now());
      const records = this.#place(batch, offset, this.#lastTime);
      const append = combine(appendStatements(partition, records), 1);
      const appending = tx.query(append.statement, append.values);
      const { outcomes, stored } = await projector.project(tx, partition, records, { duplicates });
      await appending;
      sent = performance.now();
      const committing = tx.query(commit);
      await stored;
      if ((await committing).command !== 'COMMIT') throw new Error('the transaction was rolled back');
      this.#ahead = { next: offset + BigInt(records.length), memory: null };
      return outcomes;
    } catch (error) {
      // A connection that is ended may say so behind a commit that took place and before its answer.
      if (sent !== null && (tx.broken || isDatabaseAway(error))) throw new CommitUnknown(tx, sent, error);
      if (tx.broken) throw error;
      if (sent === null) await tx.query(rollback);
      throw error;
    }
  }

  /** The batch as records from this offset on. */
  #place(batch: readonly Waiter[], offset: bigint, time: number): LogRecord[] {
    const { partition } = this.#options;
    return batch.map(({ event: { bytes, event } }, at) => ({ partition, offset: offset + BigInt(at), time, bytes, event }));
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
    const { partition, database, unknownWait, clock } = this.#options;
    const commandIds = batch.map(({ event }) => event.commandId);
    const deadline = performance.now() + unknownWait;
    while (performance.now() < deadline) {
      try {
        const known = await database.writers.with((tx) => findCommitted(tx, partition, commandIds, unknown, clock.now()));
        if (known === null) continue;
        for (const waiter of batch) {
          const recorded = known.get(waiter.event.commandId);
          if (recorded) waiter.resolve(recorded.outcome);
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
}

/** Whether a batch can take one more event. A batch without any takes the largest there is. */
function hasRoom({ waiters, bytes, endsWithImport }: Gathered, { event }: Waiter): boolean {
  if (endsWithImport) return false;
  return waiters.length === 0 || (waiters.length < batchEventsMax && bytes + event.bytes.length <= batchBytesMax);
}

function answer(waiter: Waiter, outcomes: Projected['outcomes']): void {
  const outcome = outcomes.get(waiter.event.commandId);
  if (outcome) waiter.resolve(outcome);
  else waiter.reject(tooLate());
}

/** Moves the head, and writes the records. */
function appendStatements(partition: number, records: readonly LogRecord[]): [BoundStatement, BoundStatement] {
  const { offset, time } = records[0]!;
  const moving = bind(moveHead, [partition, offset, offset + BigInt(records.length), time]);
  return [moving, insertStatement(partition, records)];
}

function insertStatement(partition: number, records: readonly LogRecord[]): BoundStatement {
  const { offset, time, bytes } = records[0]!;
  if (records.length === 1) return bind(insertRecord, [partition, offset, time, bytes]);
  const lengths = records.map((record) => record.bytes.length);
  let first = 1;
  const firsts = lengths.map((length) => {
    const at = first;
    first += length;
    return at;
  });
  const all = Buffer.concat(records.map((record) => record.bytes));
  return bind(insertRecords, [partition, offset, time, all, firsts, lengths]);
}
