/**
 * The keys of many rows: a large body, a stash, or all rows of a table. They are packed, in about 40 bytes a key,
 * because there may be a million.
 */

/** The bytes of a hash, and of an entry: the hash, then the index of the row as a big-endian number. */
export const hashBytes = 16;
export const entryBytes = hashBytes + 4;

/** Where a row is: the number of its part, and its index in that part. */
export interface PlaceInRuns {
  readonly part: number;
  readonly index: number;
}

export class KeyRuns {
  readonly #entries: Buffer;
  /** A hash table with linear probing: each slot has the number of an entry plus one, or 0 if it is free. */
  readonly #slots: Int32Array;
  /** The number of the first entry of each part. */
  readonly #starts: number[] = [];
  #count = 0;

  /** @param rowsMax the most keys that can be added */
  constructor(rowsMax: number) {
    this.#entries = Buffer.allocUnsafe(rowsMax * entryBytes);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * rowsMax + 1)));
  }

  /** Begins the next part, a segment or an extent: the keys added from now on belong to it. */
  beginPart(): void {
    this.#starts.push(this.#count);
  }

  /** Adds the key of a row of the last part. If another row has the same key, returns its place and adds nothing. */
  add(hash: Buffer, index: number): PlaceInRuns | null {
    const slots = this.#slots;
    let slot = hash.readUInt32LE(0) % slots.length;
    for (; slots[slot] !== 0; slot = (slot + 1) % slots.length) {
      const start = (slots[slot]! - 1) * entryBytes;
      if (hash.compare(this.#entries, start, start + hashBytes, 0, hashBytes) === 0)
        return this.#placeOf(slots[slot]! - 1);
    }
    const start = this.#count * entryBytes;
    hash.copy(this.#entries, start, 0, hashBytes);
    this.#entries.writeUInt32BE(index, start + hashBytes);
    this.#count += 1;
    slots[slot] = this.#count;
    return null;
  }

  #placeOf(entry: number): PlaceInRuns {
    const part = this.#starts.findLastIndex((start) => start <= entry);
    return { part, index: this.#entries.readUInt32BE(entry * entryBytes + hashBytes) };
  }

  /** The entries of each part. */
  get parts(): readonly Buffer[] {
    return this.#starts.map((start, part) =>
      this.#entries.subarray(start * entryBytes, (this.#starts[part + 1] ?? this.#count) * entryBytes),
    );
  }
}
