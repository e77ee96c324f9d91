/**
 * Cancels SQL that nobody waits for any more. A cancellation arrives over another channel than its request, so either
 * may come first.
 */

/** How many cancellations without a running request are remembered. */
const rememberedMax = 1000;

export class CancelledSql {
  readonly #atWork = new Map<number, AbortController>();
  readonly #early = new Set<number>();

  /** Cancels the request with this number. */
  add(turn: number): void {
    const controller = this.#atWork.get(turn);
    if (controller !== undefined) {
      controller.abort();
      return;
    }
    this.#early.add(turn);
    if (this.#early.size > rememberedMax) this.#early.delete(this.#early.values().next().value!);
  }

  /** Runs the work of a request, with a signal that aborts when the request is cancelled. */
  async during<T>(turn: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    if (this.#early.delete(turn)) controller.abort();
    this.#atWork.set(turn, controller);
    try {
      return await work(controller.signal);
    } finally {
      this.#atWork.delete(turn);
    }
  }
}
