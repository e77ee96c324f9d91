/** The identities that the rows of a block come with (`$rowID`, decisions 2). */
import { parseRowId } from '../events/row-id.ts';

const idBytes = 16;

export class RowIdentities {
  #bytes = Buffer.alloc(0);
  #used = false;

  /** Notes what the row at this index of the block names as its ID: null for a value that is no text. */
  set(row: number, text: string | null): void {
    const start = row * idBytes;
    this.#reserve(start + idBytes);
    this.#used = true;
    const id = text === null ? null : parseRowId(text);
    // No row was added at version 0, and all zeros say that there is no ID.
    if (id === null || id.version === 0n) {
      this.#bytes.fill(0xff, start, start + idBytes);
      return;
    }
    this.#bytes.writeBigInt64BE(id.version, start);
    this.#bytes.writeInt32BE(id.ordinal, start + 8);
    this.#bytes.writeInt32BE(id.index, start + 12);
  }

  /** The identities of the so many rows since the last call, as a RowBlock has them. */
  take(rows: number): Uint8Array | null {
    if (!this.#used) return null;
    this.#reserve(rows * idBytes);
    const taken = this.#bytes.subarray(0, rows * idBytes);
    this.#bytes = Buffer.alloc(0);
    this.#used = false;
    return taken;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(bytes, this.#bytes.length * 2));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}
