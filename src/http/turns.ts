/**
 * Shares the thread out among large bodies: one step of one of them in each turn of the event loop, so that between two steps
 * the requests of others are read and answered, however many bodies are being read.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn, in the order in which they asked. */
  take(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#next());
    });
  }

  #next(): void {
    this.#waiting.shift()!();
    // What is set here runs in the next turn: before that the event loop looks at its sockets.
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
  }
}
