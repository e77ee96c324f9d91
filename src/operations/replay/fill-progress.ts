/** How far the fill of a read model has come: for log lines, health and metrics. */

/** A rate is shown only after this time, in milliseconds: before that it is too inexact. */
const rateFrom = 1000;

/** How many events of the log are projected, and how many there are. */
export interface FillState {
  readonly events: number;
  readonly ofEvents: number;
}

export class FillProgress {
  /** A monotonic time in milliseconds. */
  readonly #clock: () => number;
  #now: FillState | null = null;
  /** The number of events at the first update, and its time. The rate is the mean since then. */
  #began = { events: 0, at: 0 };
  #read: (() => Promise<FillState | null>) | null = null;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  update(events: number, ofEvents: number): void {
    if (this.#now === null || events <= this.#began.events) this.#began = { events, at: this.#clock() };
    this.#now = { events, ofEvents };
  }

  end(): void {
    this.#now = null;
  }

  /**
   * Makes `look` read the progress of another process with `read`, which resolves to null if nothing is being filled.
   */
  follow(read: () => Promise<FillState | null>): void {
    this.#read = read;
  }

  /** Updates the progress; call it before reading the getters. Rejects as the `read` of `follow` does. */
  async look(): Promise<void> {
    if (this.#read === null) return;
    const found = await this.#read();
    if (found === null) this.end();
    else this.update(found.events, found.ofEvents);
  }

  /** How many events are left; 0 if nothing is being filled. */
  get eventsLeft(): number {
    return this.#now === null ? 0 : Math.max(0, this.#now.ofEvents - this.#now.events);
  }

  /** Estimated seconds left at the rate so far. 0 if nothing is being filled; null if a fill has just begun. */
  get secondsLeft(): number | null {
    if (this.#now === null) return 0;
    const elapsed = this.#clock() - this.#began.at;
    const done = this.#now.events - this.#began.events;
    return done === 0 || elapsed < rateFrom ? null : Math.ceil((this.eventsLeft * elapsed) / done / 1000);
  }

  /** A sentence for log lines and `/readyz`. */
  describe(): string {
    const { events, ofEvents } = this.#now ?? { events: 0, ofEvents: 0 };
    const left = this.secondsLeft === null ? '' : `, about ${this.secondsLeft} s left`;
    return `The read model is being filled from the log: ${events} of ${ofEvents} events${left}.`;
  }
}
