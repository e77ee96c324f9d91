import type { Extent } from './table.ts';

/** By default, this many bytes are remembered: a bit for each of 33 million rows. */
const defaultBytesMax = 4 * 1024 * 1024;

/**
 * Which rows of extents have changes, as bits by extent. For each of these extents, all changes since its first are
 * known.
 */
export class ChangedRows {
  readonly #bits = new Map<bigint, Uint8Array>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = defaultBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Begins to note the changes of an extent that has none yet. If memory is full, forgets the extents that were begun
   * first.
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

  /** Whether a row may have a change; also true if that is unknown. */
  mayHave(extent: bigint, index: number): boolean {
    const bits = this.#bits.get(extent);
    return bits === undefined || index >> 3 >= bits.length || (bits[index >> 3]! & (1 << (index & 7))) !== 0;
  }
}
