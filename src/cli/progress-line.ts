/**
 * Reports progress every few seconds, with the time left at the present rate. Work that ends earlier reports nothing.
 */
const intervalMs = 3000;

export class ProgressLine {
  readonly #unit: string;
  readonly #write: (line: string) => void;
  #lastTime = performance.now();
  /** Null before the first update. Work that resumes after an interruption begins above 0. */
  #lastDone: number | null = null;

  constructor(unit: string, write: (line: string) => void) {
    this.#unit = unit;
    this.#write = write;
  }

  /** `of` is the total; null: unknown. `more` is appended to the line. */
  update(done: number, of: number | null, more = ''): void {
    const now = performance.now();
    this.#lastDone ??= done;
    const elapsed = now - this.#lastTime;
    if (elapsed < intervalMs) return;
    const rate = Math.round(((done - this.#lastDone) * 1000) / elapsed);
    const whole = of === null ? '' : ` of ${of}`;
    const left = of === null || rate === 0 ? '' : `, ${describeSeconds((of - done) / rate)} left`;
    this.#write(`${done}${whole} ${this.#unit}, ${rate} a second${left}${more}`);
    this.#lastTime = now;
    this.#lastDone = done;
  }
}

/**
 * Returns a function that reports the progress of several kinds of work: `done` of `of`. `of` null: the total is
 * unknown.
 */
export function progressByKind(write: (line: string) => void): (kind: string, done: number, of: number | null) => void {
  const lines = new Map<string, ProgressLine>();
  return (kind, done, of) => {
    const line = lines.get(kind) ?? new ProgressLine(kind, write);
    lines.set(kind, line);
    line.update(done, of);
  };
}

function describeSeconds(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`;
  return seconds < 7200 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}
