/** How far the fill of a read model has come: for log lines, health and metrics. */

/** For so long a rate says little, in milliseconds. */
const rateFrom = 1000;

/** How many events of the log are projected, by whichever process. */
export interface FillState {
  readonly events: number;
  readonly ofEvents: number;
}

export class FillProgress {
  /** In milliseconds, from any beginning. */
  readonly #clock: () => number;
  #now: FillState | null = null;
  /** Where and when the first events were done that this process saw: the rate is the mean since then. */
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

  /** From now on `look` reads how far another process is; null: there is no fill. */
  follow(read: () => Promise<FillState | null>): void {
    this.#read = read;
  }

  /** To be called before it is asked. Rejects as what it follows does. */
  async look(): Promise<void> {
    if (this.#read === null) return;
    const found = await this.#read();
    if (found === null) this.end();
    else this.update(found.events, found.ofEvents);
  }

  /** 0: there is no fill. */
  get eventsLeft(): number {
    return this.#now === null ? 0 : Math.max(0, this.#now.ofEvents - this.#now.events);
  }

  /** At the rate so far; 0: there is no fill; null: it has just begun. */
  get secondsLeft(): number | null {
    if (this.#now === null) return 0;
    const elapsed = this.#clock() - this.#began.at;
    const done = this.#now.events - this.#began.events;
    return done === 0 || elapsed < rateFrom ? null : Math.ceil((this.eventsLeft * elapsed) / done / 1000);
  }

  /** A sentence. */
  describe(): string {
    const { events, ofEvents } = this.#now ?? { events: 0, ofEvents: 0 };
    const left = this.secondsLeft === null ? '' : `, about ${this.secondsLeft} s left`;
    return `The read model is being filled from the log: ${events} of ${ofEvents} events${left}.`;
  }
}
