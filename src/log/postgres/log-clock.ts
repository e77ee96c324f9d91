/**
 * The time of the log in Postgres: the server's clock, as this process last heard of it. All processes share that clock,
 * and the head refuses a record that would be older than the one before it.
 */
export class LogClock {
  #ahead = 0;

  /** Milliseconds since 1970. */
  now(): number {
    return Math.floor(performance.timeOrigin + performance.now() + this.#ahead);
  }

  /** Takes over what the server just said. */
  set(serverTime: number): void {
    this.#ahead = serverTime - (performance.timeOrigin + performance.now());
  }
}
