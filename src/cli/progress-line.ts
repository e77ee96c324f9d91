/** Says how far long work has come, every few seconds. Work that is done before the first of them says nothing. */
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

  update(done: number, of: number): void {
    const now = performance.now();
    const elapsed = now - this.#lastTime;
    if (elapsed < intervalMs) return;
    const rate = Math.round(((done - this.#lastDone) * 1000) / elapsed);
    this.#write(`${done} of ${of} ${this.#unit}, ${rate} a second`);
    this.#lastTime = now;
    this.#lastDone = done;
  }
}
