/** Cuts scanned rows into blocks. */
import type { Profile } from '../values/profile.ts';
import { BodyBuffer } from './body-buffer.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';
import { RowProfiler } from './row-profiler.ts';
import { lowerN, quote } from '../values/json-scanner.ts';
import { RowIds } from './row-ids.ts';
import type { RowScanner, ScannedRow } from './row-scanner.ts';

const lineFeed = 0x0a;

/** Rows in the form in which they are stored and travel in an event, with their profile. */
export interface RowBlock {
  readonly profile: Profile;
  /** Row bodies in UTF-8, joined by line feeds. */
  readonly body: Uint8Array;
  /**
   * The row IDs with which the rows came (`$rowID`), 16 bytes a row: zeros for a row without an ID, ones for an invalid
   * ID. Null if no row has an ID, or if IDs are not requested.
   */
  readonly ids: Uint8Array | null;
}

/**
 * Cuts rows into blocks. Adjacent clean rows are copied together by `copyRun`. Call it before the scanner's buffer
 * changes.
 */
export class BlockWriter {
  readonly #scanner: RowScanner;
  readonly #limits: RowReaderLimits;
  readonly #profiler: RowProfiler;
  readonly #body = new BodyBuffer();
  readonly #ids: RowIds | null;
  #runStart = 0;
  #runEnd = 0;

  /** `retainIds`: whether blocks include the row IDs of their rows. */
  constructor(scanner: RowScanner, limits: RowReaderLimits, retainIds = false) {
    this.#ids = retainIds ? new RowIds() : null;
    this.#scanner = scanner;
    this.#limits = limits;
    this.#profiler = new RowProfiler(scanner);
  }

  /** Adds a row. Returns the previous block if the row does not fit into it. Counts the row's length as received. */
  add(row: ScannedRow): RowBlock | null {
    const { start, end } = row;
    const isFull =
      this.#profiler.rows >= this.#limits.blockRows ||
      (this.#profiler.rows > 0 && this.#bytes() + 1 + end - start > this.#limits.blockBytes);
    const full = isFull ? this.close() : null;
    this.#ids?.add(row.clean ? null : this.#idOf(row));

    if (!row.clean) {
      this.#profiler.add(row, this.#rewrite(row));
      return full;
    }
    if (this.#runEnd > 0 && start === this.#runEnd + 1) row.bytes[this.#runEnd] = lineFeed;
    else {
      this.copyRun();
      this.#runStart = start;
    }
    this.#runEnd = end;
    this.#profiler.add(row, end - start);
    return full;
  }

  /** Closes the block. Null if it has no rows. */
  close(): RowBlock | null {
    if (this.#profiler.rows === 0) return null;
    this.copyRun();
    return { profile: this.#profiler.take(), body: this.#body.take(), ids: this.#ids?.take() ?? null };
  }

  /** Copies the pending rows out of the scanner's buffer. */
  copyRun(): void {
    if (this.#runEnd > this.#runStart) {
      this.#begin(this.#runEnd - this.#runStart);
      this.#body.copy(this.#scanner.bytes, this.#runStart, this.#runEnd);
    }
    this.#runStart = 0;
    this.#runEnd = 0;
  }

  /** The text of the row's `$rowID`; null if it has none, undefined if it is not a string. */
  #idOf({ bytes, columns, starts, ends, count }: ScannedRow): string | null | undefined {
    const cell = columns.findIndex(({ index }, at) => at < count && index < 0);
    if (cell === -1 || bytes[starts[cell]!] === lowerN) return null;
    return bytes[starts[cell]!] === quote ? this.#scanner.decode(starts[cell]!, ends[cell]!) : undefined;
  }

  /** Bytes of the block so far. */
  #bytes(): number {
    const run = this.#runEnd - this.#runStart;
    const isBetween = run > 0 && this.#body.length > 0;
    return this.#body.length + run + (isBetween ? 1 : 0);
  }

  /** Returns the bytes of the row's body. */
  #rewrite(row: ScannedRow): number {
    this.copyRun();
    this.#begin(row.end - row.start);
    const start = this.#body.length;
    this.#body.rewrite(row, this.#scanner.keepsNulls);
    return this.#body.length - start;
  }

  /** Reserves room for a body, and separates it from the previous one with a line feed. */
  #begin(bytes: number): void {
    this.#body.reserve(bytes + 1);
    if (this.#body.length > 0) this.#body.byte(lineFeed);
  }
}
