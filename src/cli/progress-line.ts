/** Reports progress every few seconds. Work that ends earlier reports nothing. */
const intervalMs = 3000;

export class ProgressLine {
  readonly #unit: string;
  readonly #write: (line: string) => void;
  #lastTime = performance.now();
  #lastDone = 0;

  constructor(unit: string, write: (line: string) => void) {
    this.#unit = unit;
    this.#write = write;
  }

  /** `of` null: the total is unknown. `more` is appended. */
  update(done: number, of: number | null, more = ''): void {
    const now = performance.now();
    const elapsed = now - this.#lastTime;
    if (elapsed < intervalMs) return;
    const rate = Math.round(((done - this.#lastDone) * 1000) / elapsed);
    const whole = of === null ? '' : ` of ${of}`;
    this.#write(`${done}${whole} ${this.#unit}, ${rate} a second${more}`);
    this.#lastTime = now;
    this.#lastDone = done;
  }
}
