/**
 * The maximum difference between two clocks, in milliseconds: a request takes effect within this time, or not at all.
 */
const differenceMax = 60_000;

/** How long a measured difference is valid, in milliseconds. The clock may be corrected after that. */
const measuredFor = 5000;

/**
 * The time of the log: the clock of the server that assigns record times, estimated from its last answer. Before the
 * first answer, the clock of this process.
 */
export class LogClock {
  readonly #server: string;
  #ahead = 0;
  /**
   * How far the server's clock is ahead of this machine's wall clock, in milliseconds, and when that was measured, by
   * `performance.now`.
   */
  #difference = 0;
  #measuredAt = -Infinity;

  /** `server`: the name of the clock's owner, for messages. */
  constructor(server: string) {
    this.#server = server;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return Math.floor(performance.timeOrigin + performance.now() + this.#ahead);
  }

  /** Adjusts to a time that the server has just returned. */
  set(serverTime: number): void {
    this.#ahead = serverTime - (performance.timeOrigin + performance.now());
    this.#difference = serverTime - Date.now();
    this.#measuredAt = performance.now();
  }

  /**
   * A sentence about a clock difference between this process and the server that is too large, so that one of the
   * clocks must be wrong; null if there is none.
   */
  get problem(): string | null {
    const isOld = performance.now() - this.#measuredAt > measuredFor;
    if (isOld || Math.abs(this.#difference) <= differenceMax) return null;
    const seconds = Math.round(Math.abs(this.#difference) / 1000);
    return `The clock of ${this.#server} is ${seconds} s ${this.#difference > 0 ? 'ahead of' : 'behind'} the clock of this process: correct the wrong one.`;
  }
}
