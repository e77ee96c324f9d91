/** Pieces of a file, each of which is uploaded as one chunk of a stash. */
/** How large chunks are made. */
export interface ChunkLimits {
  readonly rows: number;
  /** Of the body, as it is before it is compressed. A row and the header may go beyond. */
  readonly bytes: number;
}

/** As many rows as the interface recommends (spec 4.13), and well below the largest body that the service takes. */
export const defaultChunkLimits: ChunkLimits = { rows: 1_000, bytes: 8_000_000 };

/** The lines of the file in which the rows of a chunk begin. Where each row takes one line, it is only known where they begin. */
export interface RowLines {
  readonly first: number;
  /** By the place of the row in its chunk; null if each is a line behind the one before. */
  readonly each: Uint32Array | null;
}

export interface Chunk {
  /** A body that the service takes for rows. */
  readonly body: Buffer<ArrayBuffer>;
  readonly rows: number;
  readonly lines: RowLines;
}

/** Cuts the bytes of a file into chunks, however they come. Every method throws MalformedFile. */
export interface Cutter {
  /** The media type of the chunks. */
  readonly mediaType: string;
  /** The line in which the names of the columns stand; null if there is none. */
  readonly headerLine: number | null;
  /** Takes the next bytes, which it does not keep, and gives the chunks that are full by then. */
  push(bytes: Uint8Array): Iterable<Chunk>;
  /** Gives what is left. There is one chunk at least, so that a file without rows is one too. */
  end(): Iterable<Chunk>;
}

/** The line in which a row of a chunk begins. */
export function lineOfRow({ first, each }: RowLines, row: number): number {
  return each === null ? first + row : each[row] ?? first;
}

const bytesAtFirst = 64 * 1024;

/** The chunks of a file, of which the last one grows. */
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

  /** Whether the chunk is to be closed before a row of so many bytes. */
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

  /** Whether something is left to be closed at the end of the file. There is one chunk at least. */
  get hasRest(): boolean {
    return !this.#hasClosed || this.#rows > 0;
  }

  /** The chunks that were closed since the last call. */
  takeFull(): Chunk[] {
    const full = this.#full;
    this.#full = [];
    return full;
  }

  /** Closes the chunk, in memory of its own, and begins another one. */
  close(): void {
    const body = this.#bytes.subarray(0, this.#length);
    const rows = this.#rows;
    const lines = this.#closeLines();
    // The next one is probably as large.
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
