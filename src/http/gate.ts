import { NotAppended } from '../log/event-log.ts';

/** Lets only so many in at once; the others wait in order. What waits outside has not begun to read its body. */
export class Gate {
  readonly #max: number;
  readonly #waitMs: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  /** `waitMs`: how long anybody waits. */
  constructor(max: number, waitMs: number) {
    this.#max = max;
    this.#waitMs = waitMs;
  }

  /** Rejects with NotAppended when there was no place in time. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#max) await this.#wait();
    else this.#inside += 1;
    try {
      return await work();
    } finally {
      // The place passes to whoever waits longest.
      const [next] = this.#waiting;
      if (next) next();
      else this.#inside -= 1;
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(enter);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(enter);
        reject(new NotAppended('too many bodies are being read'));
      }, this.#waitMs);
      this.#waiting.add(enter);
    });
  }
}
