/**
 * The time of the log: the clock of the server that assigns record times, estimated from its last answer. Before the first answer
 * it is this process's clock.
 */
export class LogClock {
  #ahead = 0;

  /** Milliseconds since 1970. */
  now(): number {
    return Math.floor(performance.timeOrigin + performance.now() + this.#ahead);
  }

  /** Adjusts to the time that the server just gave. */
  set(serverTime: number): void {
    this.#ahead = serverTime - (performance.timeOrigin + performance.now());
  }
}
