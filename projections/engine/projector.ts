/**
 * What the log means. The projector takes records in the log's order, decides them and stores what they change, with the
 * outcomes and the progress, all of it or nothing (README.md here, "A batch").
 *
 * Both logs and replay call it. It gives the same state however the records are cut into batches.
 */
import type { Tx } from '../../src/database/pipelined-client.ts';
import { combine, type BoundStatement } from '../../src/database/combine.ts';
import type { Outcome } from '../../src/events/outcome.ts';
import type { CommandId, LogRecord } from '../../src/log/event-log.ts';
import type { BatchMemory } from './batch-memory.ts';
import { Batch, toEntry, type BatchOptions, type Duplicates, type Entry } from './batch.ts';
import { runsOf, stretchesOf } from './cuts.ts';
import { LocalKeys } from './local-keys.ts';
import type { Models } from './model.ts';
import { ModelSet, type States } from './model-set.ts';
import { advanceProgress, hasGenesis, type ProgressMark } from './progress/advance.ts';
import { SpeculativeBatch } from './speculative-batch.ts';

/** Somebody else has projected these records, or took the partition over: this transaction must be rolled back. */
export class ProgressMoved extends Error {
  override readonly name = 'ProgressMoved';
}

export interface ProjectOptions {
  /** What the partition was taken over with. */
  readonly epoch?: bigint;
  /**
   * A command may have an outcome already. `replace`: that is looked up for every command. `fail`: it is looked up for
   * those with an Idempotency-Key only, and `stored` rejects (isDuplicateOutcome) when another had one too; then the
   * batch is to be rolled back and projected with `replace`. Where duplicates are rare that saves a look-up a batch.
   */
  readonly duplicates?: Duplicates;
}

/** What a batch came to. */
export interface Projected {
  /** The outcome of each command; none for an event that came after its `notAfter`. */
  readonly outcomes: ReadonlyMap<CommandId, Outcome>;
  /**
   * Settles when all that the batch changes is stored. The statements are on their way already, so that a COMMIT can
   * follow them in the same packet.
   */
  readonly stored: Promise<void>;
}

export class Projector {
  readonly #models: ModelSet;
  readonly #keys = new LocalKeys();
  readonly #committed: States;
  /** What is known of the progress of each partition, once it is committed. */
  readonly #marks = new Map<number, ProgressMark>();

  constructor(models: Models) {
    this.#models = new ModelSet(models);
    this.#committed = this.#models.openCommitted();
  }

  /**
   * Projects records that follow each other, the first at the progress of the partition. Never opens a transaction: the
   * caller commits, or rolls back when this throws or when `stored` rejects. Throws ProgressMoved when the progress is
   * elsewhere, anything else on bugs only.
   */
  async project(
    tx: Tx,
    partition: number,
    records: readonly LogRecord[],
    { epoch = 0n, duplicates = 'replace' }: ProjectOptions = {},
  ): Promise<Projected> {
    const entries = records.map(toEntry);
    const advanced = this.#advance(tx, partition, entries, epoch);
    const outcomes = new Map<CommandId, Outcome>();
    let committed = this.#committed;
    let sent: Promise<unknown> = advanced;
    for (const stretch of stretchesOf(this.#models, entries)) {
      const batch = this.#batch({ partition, duplicates, committed, memory: null });
      for (const run of runsOf(this.#models, stretch)) {
        const loading = batch.load(tx, run);
        loading.catch(() => undefined);
        const base = await advanced;
        // When what was asked for before failed, that is the error to report: what comes after it fails in its wake.
        await sent;
        const writes = await loading;
        sent = Promise.all(writes.map((write) => write(tx)));
        sent.catch(() => undefined);
        batch.decide(run, base);
      }
      sent = Promise.all([sent, store(tx, batch.changes())]);
      sent.catch(() => undefined);
      for (const [commandId, outcome] of batch.outcomes) outcomes.set(commandId, outcome);
      // What is loaded from here on may have been stored by this very transaction.
      committed = this.#models.openCommitted();
    }
    const stored = sent.then(() => undefined);
    stored.catch(() => undefined);
    return { outcomes, stored };
  }

  /**
   * Opens a batch that is to stand at this offset, and is decided before that is certain. It may follow another speculative batch
   * that is still being stored, with the memory of that one. Null when this process has not projected the partition yet.
   */
  speculate(partition: number, offset: bigint, memory: BatchMemory | null, epoch = 0n): SpeculativeBatch | null {
    const mark = this.#marks.get(partition);
    if (mark === undefined) return null;
    const batch = this.#batch({ partition, duplicates: 'fail', committed: this.#committed, memory });
    return new SpeculativeBatch({ models: this.#models, batch, partition, offset, epoch, ...mark });
  }

  #batch(options: Omit<BatchOptions, 'keys' | 'models'>): Batch {
    return new Batch({ ...options, models: this.#models, keys: this.#keys.open() });
  }

  /** Moves the progress over all of the records, and gives the partition's base. */
  async #advance(tx: Tx, partition: number, entries: readonly Entry[], epoch: bigint): Promise<bigint> {
    const { statement, values } = advanceProgress(partition, entries, epoch, null);
    const { rows } = await tx.query(statement, values);
    const [mark] = rows;
    if (mark === undefined) {
      throw new ProgressMoved(`partition ${partition} is not at offset ${entries[0]!.record.offset}`);
    }
    if (!hasGenesis(entries)) this.#marks.set(partition, mark);
    return mark.base;
  }
}

/** Sends what is to be stored as one statement. */
async function store(tx: Tx, changes: readonly BoundStatement[]): Promise<void> {
  if (changes.length === 0) return;
  const { statement, values } = combine(changes);
  await tx.query(statement, values);
}
