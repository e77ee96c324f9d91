/** How long work holds the thread before it gives way, in milliseconds. */
const sliceMs = 3;

/**
 * Works that wait for their next slices. All share the thread, and so this queue: one slice runs in each turn of the
 * event loop.
 */
const waiting: (() => void)[] = [];

/**
 * Splits long work into slices. Between them, requests are received and answered, and other long works have their
 * slices, first come, first served.
 */
export class TimeSlices {
  #began = performance.now();

  /**
   * Whether the slice has been used up: then await `next`. For work that cannot afford to wait at each of its steps.
   */
  get isOver(): boolean {
    return performance.now() - this.#began >= sliceMs;
  }

  /** To be awaited between two steps of the work. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(runFirst);
    });
    this.#began = performance.now();
  }
}

function runFirst(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(runFirst);
}

/** Long work that yields between its steps, each of which takes a few milliseconds at most. */
export type Steps<T> = Generator<void, T, void>;

/** Does all steps of a work in time slices. */
export async function inSlices<T>(steps: Steps<T>): Promise<T> {
  const slices = new TimeSlices();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await slices.next();
  }
}

/** Does all steps of a work that is known to be short. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
