/**
 * The time of the log: the clock of the server that gives records their time, as this process last heard of it. Until then
 * it is this process's own.
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
