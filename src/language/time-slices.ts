/** How long work holds the thread before it yields, in milliseconds. */
const sliceMs = 3;

/**
 * Works that wait for their next slice. All share the thread, and therefore this queue: one slice runs in each turn of
 * the event loop.
 */
const waiting: (() => void)[] = [];

/**
 * Splits long work into slices. Between slices, requests are received and answered, and other long works get their
 * slices, first come, first served.
 */
export class TimeSlices {
  #began = performance.now();

  /** Whether the slice is used up. If so, await `next`. For work that cannot wait at every step. */
  get isOver(): boolean {
    return performance.now() - this.#began >= sliceMs;
  }

  /** Await it between two steps of the work. */
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

/** Long work that yields between its steps. Each step takes a few milliseconds at most. */
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

/** Does all steps at once, for work that is known to be short. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
