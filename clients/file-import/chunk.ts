/** Pieces of a file, each of which is uploaded as one chunk of a stash. */
import type { DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import type { Source } from './source.ts';

/** Upper bounds of a chunk. */
export interface ChunkLimits {
  readonly rows: number;
  /** Bytes of the body before compression. A single row with its header may exceed it. */
  readonly bytes: number;
}

/** As many rows as the interface recommends (spec 4.13), and far fewer bytes than the service accepts in a body. */
export const defaultChunkLimits: ChunkLimits = { rows: 1_000, bytes: 8_000_000 };

/** The lines of the file in which the rows of a chunk begin. */
export interface RowLines {
  readonly first: number;
  /** By row index in the chunk; null if every row takes one line. */
  readonly each: Uint32Array | null;
}

export interface Chunk {
  /** A request body of rows. */
  readonly body: Buffer<ArrayBuffer>;
  readonly rows: number;
  readonly lines: RowLines;
}

export interface SheetName {
  readonly name: string;
  readonly isHidden: boolean;
}

/** The form of the chunks of a file. */
export interface ChunkForm {
  /** The media type of the chunks. */
  readonly mediaType: 'application/json' | 'text/csv' | 'text/tab-separated-values';
  /** The form of CSV and TSV in the chunks. Complete once there is a chunk. */
  readonly form: DelimitedForm;
  /** The line with the column names; null if there is none. */
  readonly headerLine: number | null;
  /** The sheets of a workbook, once it has been opened. */
  readonly sheets?: readonly SheetName[];
  /** Remarks for people on how the file is read, once it has been read. */
  readonly notes?: readonly string[];
}

/** Cuts the bytes of a file into chunks, in whatever pieces they arrive. Every method throws MalformedFile. */
export interface Cutter extends ChunkForm {
  /** Takes the next bytes without keeping a reference, and returns the chunks that are full. */
  push(bytes: Uint8Array): Iterable<Chunk>;
  /** Returns the remaining chunks. A file yields at least one chunk, even without rows. */
  end(): Iterable<Chunk>;
}

/** Cuts a file that cannot be read from beginning to end into chunks. */
export interface WholeFileCutter extends ChunkForm {
  /** Yields at least one chunk, even without rows. Throws MalformedFile, and the reason of the signal. */
  cut(source: Source, signal: AbortSignal): AsyncIterable<Chunk>;
}

export type FileCutter = Cutter | WholeFileCutter;

/** The line in which a row of a chunk begins. */
export function lineOfRow({ first, each }: RowLines, row: number): number {
  return each === null ? first + row : (each[row] ?? first);
}

const bytesAtFirst = 64 * 1024;

/** Builds the chunks of a file. The last one is being filled. */
export class ChunkBuilder {
  readonly #limits: ChunkLimits;
  #bytes = Buffer.allocUnsafeSlow(bytesAtFirst);
  #length = 0;
  #lines: Uint32Array;
  #rows = 0;
  #full: Chunk[] = [];
  #hasClosed = false;

  constructor(limits: ChunkLimits) {
    this.#limits = limits;
    this.#lines = new Uint32Array(limits.rows);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Whether to close the chunk before a row of this many bytes. */
  isFull(rowBytes: number): boolean {
    const { rows, bytes } = this.#limits;
    return this.#rows > 0 && (this.#rows >= rows || this.#length + rowBytes > bytes);
  }

  addRow(line: number): void {
    this.#lines[this.#rows] = line;
    this.#rows += 1;
  }

  append(bytes: Uint8Array, start = 0, end = bytes.length): void {
    const needed = this.#length + end - start;
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length = needed;
  }

  /** Whether the last chunk must be closed at the end of the file, so that the file yields at least one. */
  get hasRest(): boolean {
    return !this.#hasClosed || this.#rows > 0;
  }

  /** The chunks that were closed since the last call. */
  takeFull(): Chunk[] {
    const full = this.#full;
    this.#full = [];
    return full;
  }

  /** Closes the chunk, and begins the next one in memory of its own. */
  close(): void {
    const body = this.#bytes.subarray(0, this.#length);
    const rows = this.#rows;
    const lines = this.#closeLines();
    // The next chunk is probably as large as this one.
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(bytesAtFirst, this.#length));
    this.#length = 0;
    this.#rows = 0;
    this.#full.push({ body, rows, lines });
    this.#hasClosed = true;
  }

  #closeLines(): RowLines {
    const lines = this.#lines.subarray(0, this.#rows);
    const first = lines[0] ?? 1;
    const isRegular = lines.every((line, row) => line === first + row);
    return { first, each: isRegular ? null : lines.slice() };
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
