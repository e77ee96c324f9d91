/** The row IDs that the rows of a block come with (`$rowID`), as they travel in its event (src/events/row-bodies.ts). */
import { parseRowId } from '../events/row-id.ts';

const idBytes = 16;
const rowsAtFirst = 64;

export class RowIds {
  #bytes = Buffer.alloc(0);
  #rows = 0;
  #hasAny = false;

  /** Adds a row: the text of its ID; null when it has none; undefined when it has something that is no ID. */
  add(id: string | null | undefined): void {
    const start = this.#rows * idBytes;
    this.#rows += 1;
    if (id === null) return;
    this.#hasAny = true;
    this.#reserve(start + idBytes);
    // No row was added at version 0, and zeros say that there is no ID.
    if (!id || (parseRowId(id)?.version ?? 0n) === 0n) this.#bytes.fill(0xff, start, start + idBytes);
    else this.#bytes.write(id, start, 'base64url');
  }

  /** What was added since the last call; null when no row had an ID. */
  take(): Uint8Array | null {
    this.#reserve(this.#rows * idBytes);
    const ids = this.#hasAny ? this.#bytes.subarray(0, this.#rows * idBytes) : null;
    this.#bytes = Buffer.alloc(0);
    this.#rows = 0;
    this.#hasAny = false;
    return ids;
  }

  #reserve(bytes: number): void {
    if (!this.#hasAny || bytes <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(bytes, this.#bytes.length * 2, rowsAtFirst * idBytes));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}
