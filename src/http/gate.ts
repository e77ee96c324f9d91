/** Lets only so many in at once; the others wait in order. What waits outside has not begun to read its body. */
export class Gate {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(max: number) {
    this.#max = max;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#max) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inside += 1;
    try {
      return await work();
    } finally {
      // The place passes to whoever waits longest.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inside -= 1;
    }
  }
}
