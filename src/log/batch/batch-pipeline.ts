/**
 * Stores the batches of one partition in order. While a batch is in flight, the next one is gathered and planned, so
 * that this process and Postgres do not wait for each other in turns.
 */

import { FairQueue } from './fair-queue.ts';

/** The operations on batches. */
export interface BatchStage<Item, Batch> {
  /** The owner of an item: batches are shared fairly among owners, by cost. Without these, items keep their order. */
  ownerOf?(item: Item): string;
  costOf?(item: Item): number;
  /** Begins a batch that follows all earlier ones. */
  open(): Batch;
  /** Whether a batch can take one more item. An empty batch takes an item of any size. */
  hasRoom(batch: Batch, item: Item): boolean;
  put(batch: Batch, item: Item): void;
  /** Plans the items last put into a batch. Never rejects. */
  plan(batch: Batch, items: readonly Item[]): Promise<void>;
  /**
   * Called when the batch before this one has landed. If it did not land as planned, plans made on top of it are
   * invalid. Items that could not be planned before can be planned now. Never rejects.
   */
  replan(batch: Batch, asPlanned: boolean): Promise<void>;
  /** Stores a batch. Resolves to whether it landed as planned. Never rejects. */
  store(batch: Batch): Promise<boolean>;
  /** Called when no item waits and no batch is in flight. */
  rest(): void;
}

/** A batch in flight. */
interface Flight {
  /** Settles when the batch has been stored. Never rejects. */
  readonly landing: Promise<void>;
  landed: boolean;
  asPlanned: boolean;
}

export class BatchPipeline<Item, Batch> {
  readonly #stage: BatchStage<Item, Batch>;
  readonly #waiting: FairQueue<Item>;
  #running: Promise<void> | null = null;
  #arrived: (() => void) | null = null;

  constructor(stage: BatchStage<Item, Batch>) {
    this.#stage = stage;
    this.#waiting = new FairQueue(
      (item) => stage.ownerOf?.(item) ?? '',
      (item) => stage.costOf?.(item) ?? 1,
    );
  }

  push(items: readonly Item[]): void {
    if (items.length === 0) return;
    for (const item of items) this.#waiting.push(item);
    this.#arrived?.();
    this.#running ??= this.#run();
  }

  /** Removes and returns the items that are in no batch yet. */
  takeWaiting(): Item[] {
    return this.#waiting.takeAll();
  }

  /** Whether no item waits and no batch is in flight. */
  get isIdle(): boolean {
    return this.#running === null;
  }

  /** Settles when no item waits and no batch is in flight. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    let flight: Flight | null = null;
    do {
      const { batch, size } = await this.#gather(flight);
      flight = size === 0 ? null : this.#takeOff(batch);
    } while (flight !== null || this.#waiting.length > 0);
    this.#stage.rest();
    // In the same turn as the check of the queue. So an item that is pushed later finds no run, and starts one.
    this.#running = null;
  }

  /** Gathers waiting items. While a batch is in flight, also gathers those that arrive. */
  async #gather(flight: Flight | null): Promise<{ readonly batch: Batch; readonly size: number }> {
    const batch = this.#stage.open();
    let size = 0;
    for (;;) {
      // Waits one turn of the event loop, so that items that arrive together are batched together.
      await new Promise<void>((resolve) => setImmediate(resolve));
      size += await this.#take(batch);
      if (flight === null || flight.landed) break;
      await Promise.race([flight.landing, this.#arrival(batch)]);
      if (flight.landed) break;
    }
    if (flight !== null && size > 0) await this.#stage.replan(batch, flight.asPlanned);
    return { batch, size };
  }

  /** Moves waiting items into a batch while it has room. */
  async #take(batch: Batch): Promise<number> {
    const taken: Item[] = [];
    while (this.#waiting.length > 0 && this.#stage.hasRoom(batch, this.#waiting.peek()!)) {
      const item = this.#waiting.shift()!;
      this.#stage.put(batch, item);
      taken.push(item);
    }
    if (taken.length > 0) await this.#stage.plan(batch, taken);
    return taken.length;
  }

  /** Resolves when an item waits for which the batch has room. */
  #arrival(batch: Batch): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = () => {
        if (this.#stage.hasRoom(batch, this.#waiting.peek()!)) resolve();
      };
      if (this.#waiting.length > 0) this.#arrived();
    });
  }

  #takeOff(batch: Batch): Flight {
    const flight: Flight = {
      landing: this.#stage.store(batch).then((asPlanned) => {
        flight.landed = true;
        flight.asPlanned = asPlanned;
      }),
      landed: false,
      asPlanned: false,
    };
    return flight;
  }
}
