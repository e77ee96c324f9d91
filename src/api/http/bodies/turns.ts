/** How long after a small request more are expected, in milliseconds. */
const othersExpectedMs = 100;

/** While small requests are expected, a pause follows each step: its duration times this ratio, at most `restMaxMs`. */
const restRatio = 6;
const restMaxMs = 20;

/**
 * Shares the thread among large bodies: one step of one body per turn of the event loop, so that other requests are
 * read and answered between steps, however many bodies are being read. What a step reads is then compressed, stored and
 * flushed, which takes CPU and disk from small requests too: while there are any, a pause follows each step.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isRunning = false;
  #lastSmall = -Infinity;

  /** Resolves when it is the caller's turn, first come, first served. */
  take(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#isRunning) return;
      this.#isRunning = true;
      setImmediate(() => this.#next());
    });
  }

  /** A small request has arrived: large bodies yield to it, and to those that may follow it. */
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
    // Runs in the next turn: by then the step is done, and the event loop has polled its sockets.
    setImmediate(() => {
      const now = performance.now();
      if (now - this.#lastSmall > othersExpectedMs) this.#next();
      else setTimeout(() => this.#next(), Math.min((now - began) * restRatio, restMaxMs));
    });
  }
}
