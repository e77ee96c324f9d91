/** How far two clocks may differ, in milliseconds: a request takes effect within this time, or not at all. */
const differenceMax = 60_000;

/** How long a measured difference counts, in milliseconds: a clock may have been corrected since. */
const measuredFor = 5000;

/**
 * The time of the log: the clock of the server that assigns record times, estimated from its last answer. Before the
 * first answer it is this process's clock.
 */
export class LogClock {
  readonly #server: string;
  #ahead = 0;
  /**
   * How far the server's clock is ahead of the wall clock here, in milliseconds, and when that was measured, by
   * `performance.now`.
   */
  #difference = 0;
  #measuredAt = -Infinity;

  /** `server`: whose clock it is, for messages. */
  constructor(server: string) {
    this.#server = server;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return Math.floor(performance.timeOrigin + performance.now() + this.#ahead);
  }

  /** Adjusts to the time that the server just gave. */
  set(serverTime: number): void {
    this.#ahead = serverTime - (performance.timeOrigin + performance.now());
    this.#difference = serverTime - Date.now();
    this.#measuredAt = performance.now();
  }

  /**
   * A sentence that says that the clock of this process and that of the server differ by too much: one of the two is
   * wrong. Else null.
   */
  get problem(): string | null {
    const isOld = performance.now() - this.#measuredAt > measuredFor;
    if (isOld || Math.abs(this.#difference) <= differenceMax) return null;
    const seconds = Math.round(Math.abs(this.#difference) / 1000);
    return `The clock of ${this.#server} is ${seconds} s ${this.#difference > 0 ? 'ahead of' : 'behind'} that of this process: correct the one that is wrong.`;
  }
}
