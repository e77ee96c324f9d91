/** Shows the progress of an import or an export on stderr: a bar on a terminal, otherwise a line every few seconds. */
import { MultiBar, type SingleBar } from 'cli-progress';
import { writeWords } from './console.ts';
import { ProgressLine } from './progress-line.ts';

interface RowsProgress {
  /**
   * Reports progress.
   * @param done the amount of work done, in the unit of `total`
   */
  update(rows: number, done: number): void;
  /** Writes a message without disturbing the progress. */
  say(words: string): void;
  /** Call it at the end in any case. Later messages are written without a bar. */
  stop(): void;
}

/**
 * @param verb the name of the work in the bar
 * @param total the amount of work; null: unknown, so no bar is shown
 */
export function showProgress(verb: string, total: number | null, isTerminal: boolean): RowsProgress {
  return isTerminal && total !== null && total > 0 ? new BarProgress(verb, total) : new LineProgress(total);
}

class BarProgress implements RowsProgress {
  readonly #bars: MultiBar;
  readonly #bar: SingleBar;
  readonly #started = performance.now();
  #isStopped = false;

  constructor(verb: string, total: number) {
    this.#bars = new MultiBar({
      format: `${verb} {bar} {percentage} % | {rows} rows | {rate} rows/s | {eta_formatted} left`,
      stream: process.stderr,
      clearOnComplete: true,
      hideCursor: true,
      barsize: 30,
      etaBuffer: 50,
      // The command handles the signals itself.
      gracefulExit: false,
    });
    this.#bar = this.#bars.create(total, 0, { rows: 0, rate: 0 });
  }

  update(rows: number, done: number): void {
    this.#bar.update(done, {
      rows: showNumber(rows),
      rate: showNumber(rateOf(rows, performance.now() - this.#started)),
    });
  }

  say(words: string): void {
    if (this.#isStopped) {
      writeWords(words);
      return;
    }
    this.#bars.log(`${words}\n`);
    this.#bars.update();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#bars.stop();
  }
}

class LineProgress implements RowsProgress {
  readonly #total: number | null;
  readonly #line = new ProgressLine('rows', writeWords);
  readonly #started = performance.now();

  constructor(total: number | null) {
    this.#total = total;
  }

  update(rows: number, done: number): void {
    this.#line.update(rows, null, this.#rest(done));
  }

  say(words: string): void {
    writeWords(words);
  }

  stop(): void {}

  #rest(done: number): string {
    if (this.#total === null || done === 0) return '';
    const percent = Math.floor((done * 100) / this.#total);
    const left = Math.round(((performance.now() - this.#started) * (this.#total - done)) / done / 1000);
    return `, ${percent} %, about ${left} s left`;
  }
}

/** Rows per second. */
export function rateOf(rows: number, ms: number): number {
  return Math.round((rows * 1000) / Math.max(ms, 1));
}

/** With thousands separators. */
export function showNumber(value: number): string {
  return value.toLocaleString('en');
}
