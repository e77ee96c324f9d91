/** The waits in one partition: how many there are, how old the oldest is, and when a wait last ended. */

/** How a wait ended: 'done' if the awaited event came. */
export type End = 'done' | 'failed';

/** A wait that has begun. */
export interface Wait {
  readonly end: (how: End) => void;
}

export class Waits {
  /** When each wait began, by `performance.now`, the oldest first. */
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

  /** The age of the oldest wait, in milliseconds; 0 if there is none. */
  get oldestMs(): number {
    return this.#since(-Infinity);
  }

  /** How long there have been waits and none was done, in milliseconds; 0 if there is none. */
  get undoneMs(): number {
    return this.#since(this.#doneAt);
  }

  /** How long there have been waits and none has ended, in milliseconds; 0 if there is none. */
  get silentMs(): number {
    return this.#since(this.#endedAt);
  }

  #since(last: number): number {
    const oldest = this.#began.values().next();
    return oldest.done === true ? 0 : performance.now() - Math.max(oldest.value, last);
  }
}

/** The number of waiting appends, as text. */
export function appendsWait(count: number): string {
  return count === 1 ? '1 append waits' : `${count} appends wait`;
}
