import type { Extent } from './table.ts';

/** By default, so many bytes are remembered: a bit for each row of 33 million. */
const defaultBytesMax = 4 * 1024 * 1024;

/** Which rows of extents have changes, as bits by extent; the changes of these extents are known from the first on. */
export class ChangedRows {
  readonly #bits = new Map<bigint, Uint8Array>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = defaultBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Begins to note the changes of an extent that has had none. Forgets the extents that were begun first, if it is too
   * much to remember.
   */
  begin({ key, rows }: Extent): void {
    const bytes = Math.ceil(rows / 8);
    if (bytes > this.#bytesMax || this.#bits.has(key)) return;
    for (const [oldest, bits] of this.#bits) {
      if (this.#bytes + bytes <= this.#bytesMax) break;
      this.#bits.delete(oldest);
      this.#bytes -= bits.length;
    }
    this.#bits.set(key, new Uint8Array(bytes));
    this.#bytes += bytes;
  }

  /** Notes a change of a row. */
  add(extent: bigint, index: number): void {
    const bits = this.#bits.get(extent);
    if (bits !== undefined && index >> 3 < bits.length) bits[index >> 3]! |= 1 << (index & 7);
  }

  /** Whether a row may have a change: true also if that is not known. */
  mayHave(extent: bigint, index: number): boolean {
    const bits = this.#bits.get(extent);
    return bits === undefined || index >> 3 >= bits.length || (bits[index >> 3]! & (1 << (index & 7))) !== 0;
  }
}
