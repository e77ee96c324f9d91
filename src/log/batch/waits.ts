/** What waits in one partition, since when, and when something of it ended last. */

/** How a wait ended: with what was waited for, or without. */
export type End = 'done' | 'failed';

/** One of them. */
export interface Wait {
  readonly end: (how: End) => void;
}

export class Waits {
  /** When each began, by `performance.now`, the oldest first. */
  readonly #began = new Map<Wait, number>();
  #doneAt = -Infinity;
  #endedAt = -Infinity;

  begin(): Wait {
    const wait: Wait = {
      end: (how) => {
        if (!this.#began.delete(wait)) return;
        this.#endedAt = performance.now();
        if (how === 'done') this.#doneAt = this.#endedAt;
      },
    };
    this.#began.set(wait, performance.now());
    return wait;
  }

  get count(): number {
    return this.#began.size;
  }

  /** The age of the oldest, in milliseconds; 0 if nothing waits. */
  get oldestMs(): number {
    return this.#since(-Infinity);
  }

  /** For how long something has waited and nothing was done, in milliseconds; 0 if nothing waits. */
  get undoneMs(): number {
    return this.#since(this.#doneAt);
  }

  /** For how long something has waited and nothing has ended, in milliseconds; 0 if nothing waits. */
  get silentMs(): number {
    return this.#since(this.#endedAt);
  }

  #since(last: number): number {
    const oldest = this.#began.values().next();
    return oldest.done === true ? 0 : performance.now() - Math.max(oldest.value, last);
  }
}

/** So many of them, for people. */
export function appendsWait(count: number): string {
  return count === 1 ? '1 append waits' : `${count} appends wait`;
}
