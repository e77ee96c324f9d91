/** For so long after a small request others are expected, in milliseconds. */
const othersExpectedMs = 100;

/** While others are expected, so many times as long as a step took nothing is done behind it; at most `restMaxMs`. */
const restRatio = 6;
const restMaxMs = 20;

/**
 * Shares the thread out among large bodies: one step of one of them in each turn of the event loop, so that between two steps
 * the requests of others are read and answered, however many bodies are being read. What a step reads is compressed, stored and
 * flushed afterwards, and all of that takes processors and disk from small requests too: while there are such, each step is
 * followed by a rest. With nobody to give way to there is none.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isRunning = false;
  #lastSmall = -Infinity;

  /** Resolves when it is the caller's turn, in the order in which they asked. */
  take(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#isRunning) return;
      this.#isRunning = true;
      setImmediate(() => this.#next());
    });
  }

  /** A small request has come: large bodies give way to it and to those that may follow it. */
  giveWay(): void {
    this.#lastSmall = performance.now();
  }

  #next(): void {
    const resolve = this.#waiting.shift();
    if (resolve === undefined) {
      this.#isRunning = false;
      return;
    }
    const began = performance.now();
    resolve();
    // What is set here runs in the next turn: the step has been taken then, and the event loop has looked at its sockets.
    setImmediate(() => {
      const now = performance.now();
      if (now - this.#lastSmall > othersExpectedMs) this.#next();
      else setTimeout(() => this.#next(), Math.min((now - began) * restRatio, restMaxMs));
    });
  }
}
