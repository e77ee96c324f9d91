/**
 * The batches of one partition: gathered, limited, decided ahead, decided anew where that did not hold, and stored one after the
 * other. While one is being stored the next is gathered and decided, as if that one had landed already. Both logs drive this; how a batch
 * is stored is theirs.
 */
import type { Tx } from '../../src/database/pipelined-client.ts';
import { isImport } from '../../src/events/record-header.ts';
import type { Database } from '../../src/database/database.ts';
import type { Event } from '../../src/events/event.ts';
import type { LogRecord } from '../../src/log/event-log.ts';
import type { BatchMemory } from './batch-memory.ts';
import { BatchPipeline } from '../../src/log/batch-pipeline.ts';
import type { Projector } from './projector.ts';
import type { SpeculativeBatch } from './speculative-batch.ts';

/** What one batch may hold. */
const batchEventsMax = 500;
const batchBytesMax = 4 * 1024 * 1024;

/** A batch in the making. */
export interface Gathered<Item> {
  readonly items: Item[];
  bytes: number;
  /** Whether the last of them is an import: there is no room behind it. */
  endsWithImport: boolean;
  /** The time of its records, where the log gives it to the whole batch. */
  time: number;
  /** What it comes to if the progress is where it is expected; null when that cannot be said ahead. */
  speculative: SpeculativeBatch | null;
  /** Settles when what its items look up has been loaded ahead, as far as that could be done. Never rejects. */
  loadedAhead: Promise<void> | null;
}

export interface PartitionBatchesOptions<Item> {
  readonly partition: number;
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
  /** What the partition was taken over with. */
  readonly epoch: bigint;
  readonly bytesOf: (item: Item) => Uint8Array;
  /** The time for the records of a batch that is opened now, in milliseconds. */
  readonly timeNow: () => number;
  /** Items as the records that they are, or will be, from this offset on. */
  readonly place: (items: readonly Item[], offset: bigint, time: number) => readonly LogRecord[];
  /** Whether it pays to decide ahead now. */
  readonly maySpeculate: () => boolean;
  /** Stores a batch, and gives whether it was stored as it was decided ahead. Never rejects. */
  readonly store: (batch: Gathered<Item>) => Promise<boolean>;
}

export class PartitionBatches<Item> {
  readonly #options: PartitionBatchesOptions<Item>;
  readonly #pipeline: BatchPipeline<Item, Gathered<Item>>;
  /** Where the partition is, and what is known, when the batches so far have landed; null when that cannot be said. */
  #ahead: { readonly next: bigint; readonly memory: BatchMemory | null } | null = null;
  /** Opened before its items were there, while nothing was being stored. */
  #opened: Gathered<Item> | null = null;

  constructor(options: PartitionBatchesOptions<Item>) {
    this.#options = options;
    this.#pipeline = new BatchPipeline({
      open: () => this.#takeOpened() ?? this.#open(),
      hasRoom: (batch, item) => this.#hasRoom(batch, item),
      put: (batch, item) => {
        const bytes = options.bytesOf(item);
        batch.items.push(item);
        batch.bytes += bytes.length;
        batch.endsWithImport = isImport(bytes);
      },
      plan: (batch, items) => this.#decide(batch, items),
      replan: async (batch, asPlanned) => {
        if (asPlanned && batch.speculative !== null) return;
        this.#speculate(batch);
        await this.#decide(batch, batch.items);
      },
      store: (batch) => {
        const { speculative } = batch;
        if (speculative) this.#ahead = { next: speculative.end, memory: speculative.memory() };
        return options.store(batch);
      },
      rest: () => this.#ahead?.memory?.forgetBefore(),
    });
  }

  push(items: readonly Item[]): void {
    this.#pipeline.push(items);
  }

  /** Takes back all that is in no batch yet. */
  takeWaiting(): Item[] {
    return this.#pipeline.takeWaiting();
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    await Promise.all([this.#pipeline.idle(), this.#opened?.loadedAhead]);
  }

  /** Events are on their way that will stand at this offset: what they look up is loaded meanwhile, unless there is something to do. */
  loadAhead(offset: bigint, events: readonly Event[]): void {
    if (this.#opened !== null || this.#ahead?.next !== offset || !this.#pipeline.isIdle) return;
    const batch = this.#open();
    const { speculative } = batch;
    if (speculative === null) return;
    this.#opened = batch;
    batch.loadedAhead = this.#attempt(batch, (tx) => speculative.loadAhead(tx, events));
  }

  /** A batch was stored otherwise than it was decided ahead: the partition is here now. */
  landedAt(next: bigint): void {
    this.#ahead = { next, memory: null };
  }

  /** Nobody can say where the partition is. */
  lost(): void {
    this.#ahead = null;
  }

  #takeOpened(): Gathered<Item> | null {
    const opened = this.#opened;
    this.#opened = null;
    return opened;
  }

  #open(): Gathered<Item> {
    const batch: Gathered<Item> = { items: [], bytes: 0, endsWithImport: false, time: 0, speculative: null, loadedAhead: null };
    this.#speculate(batch);
    return batch;
  }

  #speculate(batch: Gathered<Item>): void {
    const { partition, projector, epoch, timeNow, maySpeculate } = this.#options;
    const ahead = maySpeculate() ? this.#ahead : null;
    batch.time = timeNow();
    batch.speculative = ahead && projector.speculate(partition, ahead.next, ahead.memory, epoch);
  }

  /** A batch without any items takes the largest there is. */
  #hasRoom({ items, bytes, endsWithImport }: Gathered<Item>, item: Item): boolean {
    if (endsWithImport) return false;
    return items.length === 0 || (items.length < batchEventsMax && bytes + this.#options.bytesOf(item).length <= batchBytesMax);
  }

  /** Decides items that were added to a batch. */
  async #decide(batch: Gathered<Item>, items: readonly Item[]): Promise<void> {
    await batch.loadedAhead;
    const { speculative, time } = batch;
    if (speculative === null) return;
    await this.#attempt(batch, (tx) => speculative.add(tx, this.#options.place(items, speculative.end, time)));
  }

  /** Does a part of the work on a speculative batch. Never rejects. */
  async #attempt(batch: Gathered<Item>, work: (tx: Tx) => Promise<void>): Promise<void> {
    try {
      await this.#options.database.writers.with(work);
    } catch {
      // Whatever failed fails again, and is dealt with, when the batch is projected in a transaction.
      batch.speculative = null;
    }
  }
}
