import type { Extent } from './table.ts';

/** So much is remembered at most, in bytes: a bit for each row of 33 million. */
const bytesMax = 4 * 1024 * 1024;

/** Which rows of extents have changes, as bits by extent; the changes of these extents are known from the first on. */
export class ChangedRows {
  readonly #bits = new Map<bigint, Uint8Array>();
  #bytes = 0;

  /** Begins to note the changes of an extent that has had none. Does nothing if that would be too much to remember. */
  begin({ key, rows }: Extent): void {
    const bytes = Math.ceil(rows / 8);
    if (this.#bytes + bytes > bytesMax || this.#bits.has(key)) return;
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
