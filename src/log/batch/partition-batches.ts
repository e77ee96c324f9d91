/**
 * The batches of one partition: gathered, bounded, decided speculatively, decided again if speculation failed, and
 * stored one after the other. While a batch is in flight, the next one is gathered and decided as if the first had
 * landed. Both logs use this, each with its own way to store a batch.
 */
import type { Tx } from '../../storage/database/pipelined-client.ts';
import type { Database } from '../../storage/database/database.ts';
import type { Event } from '../../language/events/event.ts';
import type { LogRecord } from '../event-log.ts';
import { hashOf } from '../identity.ts';
import { BatchPipeline } from './batch-pipeline.ts';
import type { Projector } from '../projector.ts';
import type { ProgressAhead, SpeculativeBatch } from './speculative-batch.ts';

/**
 * The highest total cost (src/language/events/cost.ts) of a batch while clients wait for its outcomes: about 500 simple
 * events, which take 50 ms.
 */
const waitedForCostMax = 4_000_000;

/** A batch that is being gathered. */
interface Gathered<Item> {
  readonly items: Item[];
  cost: number;
  /** The time of its records, if the log gives a batch one time. */
  time: number;
  /**
   * The speculative result, valid if the progress is at the expected place; null if the batch cannot be decided ahead.
   */
  speculative: SpeculativeBatch | null;
  /** Settles when the look-ups of its expected items have been preloaded, if possible. Never rejects. */
  loadedAhead: Promise<void> | null;
}

interface PartitionBatchesOptions<Item> {
  readonly partition: number;
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
  /** The epoch (fencing token) that this process got when it took the partition over. */
  readonly epoch: bigint;
  /** The cost of an item's event (src/language/events/cost.ts). */
  readonly costOf: (item: Item) => number;
  /**
   * The highest total cost of a batch. An event that costs more is put into a batch alone. By default it is low,
   * because clients wait for the outcomes.
   */
  readonly costMax?: number;
  /** The maximum number of events in a batch. By default only the cost limits a batch. */
  readonly eventsMax?: number;
  /** The owner of an item, for fair shares of batches. Without it, items keep their order. */
  readonly ownerOf?: (item: Item) => string;
  /** The time for the records of a batch that is opened now, in milliseconds. */
  readonly timeNow: () => number;
  /** The records that the items are or will be, from this offset on. */
  readonly place: (items: readonly Item[], offset: bigint, time: number) => readonly LogRecord[];
  /** Whether to decide the next batch speculatively. */
  readonly maySpeculate: () => boolean;
  /** Stores a batch. Resolves to whether it landed as it was decided ahead. Never rejects. */
  readonly store: (batch: Gathered<Item>) => Promise<boolean>;
}

export class PartitionBatches<Item> {
  readonly #options: PartitionBatchesOptions<Item>;
  readonly #pipeline: BatchPipeline<Item, Gathered<Item>>;
  /** The place of the partition once all batches so far have landed; null if unknown. */
  #ahead: ProgressAhead | null = null;
  /** A batch opened before its items arrived, while nothing was in flight. */
  #opened: Gathered<Item> | null = null;

  constructor(options: PartitionBatchesOptions<Item>) {
    this.#options = options;
    const { ownerOf } = options;
    this.#pipeline = new BatchPipeline({
      ...(ownerOf === undefined ? {} : { ownerOf, costOf: options.costOf }),
      open: () => this.#takeOpened() ?? this.#open(),
      hasRoom: (batch, item) => this.#hasRoom(batch, item),
      put: (batch, item) => {
        batch.items.push(item);
        batch.cost += options.costOf(item);
      },
      plan: (batch, items) => this.#decide(batch, items),
      replan: async (batch, asPlanned) => {
        if (asPlanned && batch.speculative !== null) return;
        this.#speculate(batch);
        await this.#decide(batch, batch.items);
      },
      store: (batch) => {
        const { speculative } = batch;
        if (speculative) this.#ahead = speculative.ahead();
        return options.store(batch);
      },
      rest: () => this.#ahead?.memory?.forgetBefore(),
    });
  }

  push(items: readonly Item[]): void {
    this.#pipeline.push(items);
  }

  /** Removes and returns the items that are in no batch yet. */
  takeWaiting(): Item[] {
    return this.#pipeline.takeWaiting();
  }

  /** Settles when no item waits any more. */
  async idle(): Promise<void> {
    await Promise.all([this.#pipeline.idle(), this.#opened?.loadedAhead]);
  }

  /** Events are being sent, and will start at this offset. Preloads their look-ups, unless the pipeline is busy. */
  loadAhead(offset: bigint, events: readonly Event[]): void {
    if (this.#opened !== null || this.#ahead?.next !== offset || !this.#pipeline.isIdle) return;
    const batch = this.#open();
    const { speculative } = batch;
    if (speculative === null) return;
    this.#opened = batch;
    batch.loadedAhead = this.#attempt(batch, (tx) => speculative.loadAhead(tx, events));
  }

  /**
   * Reads ahead the rows that these later events will need. Does nothing while no batch has been decided ahead. Rejects
   * as `Projector.lookAhead` does.
   */
  async lookAhead(database: Pick<Database, 'fills'>, events: readonly Event[]): Promise<void> {
    const memory = this.#ahead?.memory ?? null;
    if (memory !== null) await this.#options.projector.lookAhead(database, memory, events);
  }

  /** A batch that ends with this record has landed, but not as it was decided ahead. */
  landed(last: LogRecord): void {
    this.#ahead = { next: last.offset + 1n, lastHash: hashOf(last), memory: null };
  }

  /** The place of the partition is unknown. */
  lost(): void {
    this.#ahead = null;
  }

  #takeOpened(): Gathered<Item> | null {
    const opened = this.#opened;
    this.#opened = null;
    return opened;
  }

  #open(): Gathered<Item> {
    const batch: Gathered<Item> = { items: [], cost: 0, time: 0, speculative: null, loadedAhead: null };
    this.#speculate(batch);
    return batch;
  }

  #speculate(batch: Gathered<Item>): void {
    const { partition, projector, epoch, timeNow, maySpeculate } = this.#options;
    const ahead = maySpeculate() ? this.#ahead : null;
    batch.time = timeNow();
    batch.speculative = ahead && projector.speculate(partition, ahead, epoch);
  }

  /** An empty batch takes any item. */
  #hasRoom({ items, cost }: Gathered<Item>, item: Item): boolean {
    const { costOf, costMax = waitedForCostMax, eventsMax = Infinity } = this.#options;
    return items.length === 0 || (items.length < eventsMax && cost + costOf(item) <= costMax);
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
      // A real failure occurs again when the batch is projected in a transaction, and is handled there.
      batch.speculative = null;
    }
  }
}
