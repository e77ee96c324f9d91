/** How long work holds the thread before it gives way, in milliseconds. */
const sliceMs = 10;

/** Splits long work into slices, between which other work gets a turn of the event loop. */
export class TimeSlices {
  #began = performance.now();

  /** To be awaited between two steps of the work. */
  async next(): Promise<void> {
    if (performance.now() - this.#began < sliceMs) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}
