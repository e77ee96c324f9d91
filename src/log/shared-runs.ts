/**
 * Shares runs of the same work among callers. A caller during a run shares the next run, which sees everything that was
 * there at the call.
 */
export class SharedRuns<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Settles as the next run that begins after this call does. */
  run(): Promise<T> {
    if (this.#running === null) return this.#begin();
    this.#next ??= this.#running
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        this.#next = null;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<T> {
    const run = this.#work();
    this.#running = run;
    const end = (): void => {
      if (this.#running === run) this.#running = null;
    };
    run.then(end, end);
    return run;
  }
}
