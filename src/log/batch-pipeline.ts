/**
 * The batches of one partition, one after the other. While one is being stored the next is gathered and planned, so that
 * this process and Postgres do not take turns at waiting for each other.
 */

/** What is done with batches. */
export interface BatchStage<Item, Batch> {
  /** Begins a batch that is to follow all those before it. */
  open(): Batch;
  /** Whether a batch can take one more item. An empty one takes the largest there is. */
  hasRoom(batch: Batch, item: Item): boolean;
  put(batch: Batch, item: Item): void;
  /** Plans what becomes of the items that were put into a batch last. Never rejects. */
  plan(batch: Batch, items: readonly Item[]): Promise<void>;
  /**
   * The batch before this one has landed. If that was not as planned, what was planned on top of it does not hold; and what
   * could not be planned before can be now. Never rejects.
   */
  replan(batch: Batch, asPlanned: boolean): Promise<void>;
  /** Stores a batch, and gives whether it landed as it was planned. Never rejects. */
  store(batch: Batch): Promise<boolean>;
  /** Nothing is in flight any more, and nothing waits. */
  rest(): void;
}

/** A batch that is being stored. */
interface Flight {
  /** Settles when it has been stored. Never rejects. */
  readonly landing: Promise<void>;
  landed: boolean;
  asPlanned: boolean;
}

export class BatchPipeline<Item, Batch> {
  readonly #stage: BatchStage<Item, Batch>;
  readonly #waiting: Item[] = [];
  #running: Promise<void> | null = null;
  #arrived: (() => void) | null = null;

  constructor(stage: BatchStage<Item, Batch>) {
    this.#stage = stage;
  }

  push(items: readonly Item[]): void {
    if (items.length === 0) return;
    this.#waiting.push(...items);
    this.#arrived?.();
    this.#running ??= this.#run();
  }

  /** Takes back all that is in no batch yet. */
  takeWaiting(): Item[] {
    return this.#waiting.splice(0);
  }

  /** Whether nothing waits and nothing is in flight. */
  get isIdle(): boolean {
    return this.#running === null;
  }

  /** Settles when nothing waits any more. */
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
    // In the same turn as the look at what waits: an item that comes later finds nobody running and starts anew.
    this.#running = null;
  }

  /** Gathers what waits, and for as long as a batch is in flight also what comes. */
  async #gather(flight: Flight | null): Promise<{ readonly batch: Batch; readonly size: number }> {
    const batch = this.#stage.open();
    let size = 0;
    for (;;) {
      // One turn of the event loop, so that what arrives together is taken together.
      await new Promise<void>((resolve) => setImmediate(resolve));
      size += await this.#take(batch);
      if (flight === null || flight.landed) break;
      await Promise.race([flight.landing, this.#arrival(batch)]);
      if (flight.landed) break;
    }
    if (flight !== null && size > 0) await this.#stage.replan(batch, flight.asPlanned);
    return { batch, size };
  }

  /** Moves what waits into a batch, as far as there is room. */
  async #take(batch: Batch): Promise<number> {
    const full = this.#waiting.findIndex((item) => {
      if (!this.#stage.hasRoom(batch, item)) return true;
      this.#stage.put(batch, item);
      return false;
    });
    const taken = this.#waiting.splice(0, full === -1 ? this.#waiting.length : full);
    if (taken.length > 0) await this.#stage.plan(batch, taken);
    return taken.length;
  }

  /** Resolves when something waits that there is room for. */
  #arrival(batch: Batch): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = () => {
        if (this.#stage.hasRoom(batch, this.#waiting[0]!)) resolve();
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
