/**
 * The row IDs with which the rows of a block came (`$rowID`), in the encoding of events
 * (src/language/events/row-bodies.ts).
 */
import { parseRowId } from '../events/row-id.ts';

const idBytes = 16;
const rowsAtFirst = 64;

export class RowIds {
  #bytes = Buffer.alloc(0);
  #rows = 0;
  #hasAny = false;

  /** Adds the ID of a row: null if it has none, undefined if its `$rowID` is not a string. */
  add(id: string | null | undefined): void {
    const start = this.#rows * idBytes;
    this.#rows += 1;
    if (id === null) return;
    this.#hasAny = true;
    this.#reserve(start + idBytes);
    // Version 0 adds no rows, so zeros can mean "no ID".
    if (!id || (parseRowId(id)?.version ?? 0n) === 0n) this.#bytes.fill(0xff, start, start + idBytes);
    else this.#bytes.write(id, start, 'base64url');
  }

  /** The IDs added since the last call; null if no row had one. */
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
