/** Keys of many rows, packed: they are added in the order of the rows, and written in the order of their hashes. */
import type { RowPlace } from '../../../../projections/tables/keys/key-preparations.store.ts';
import { hashBytes } from '../../../../projections/tables/keys/key-runs.ts';
import { inSlices, type Steps } from '../../../language/time-slices.ts';

/** An entry: the hash, the local key of the extent, and the index. */
const entryBytes = hashBytes + 8 + 4;

/** Keys are sorted by the first 16 bits of their hashes, in steps of so many keys. */
const prefixes = 2 ** 16;
const keysOfStep = 4096;

/** Some keys: the places of their rows, and their hashes one after the other. */
export interface SomeKeys {
  readonly places: readonly RowPlace[];
  readonly hashes: Buffer;
}

export class SortedKeys {
  readonly #entries: Buffer;
  #count = 0;

  /** @param keysMax the most keys that can be added; 28 bytes each */
  constructor(keysMax: number) {
    this.#entries = Buffer.allocUnsafe(keysMax * entryBytes);
  }

  add(hash: Buffer, { extent, index }: RowPlace): void {
    const start = this.#count * entryBytes;
    hash.copy(this.#entries, start, 0, hashBytes);
    this.#entries.writeBigInt64BE(extent, start + hashBytes);
    this.#entries.writeInt32BE(index, start + hashBytes + 8);
    this.#count += 1;
  }

  /** All keys, `keysAtOnce` at a time. The prefixes of their hashes ascend. */
  async *inOrder(keysAtOnce: number): AsyncGenerator<SomeKeys> {
    const order = await inSlices(this.#sorting());
    for (let first = 0; first < order.length; first += keysAtOnce) {
      const starts = Array.from(order.subarray(first, first + keysAtOnce), (entry) => entry * entryBytes);
      yield {
        places: starts.map((start) => ({
          extent: this.#entries.readBigInt64BE(start + hashBytes),
          index: this.#entries.readInt32BE(start + hashBytes + 8),
        })),
        hashes: Buffer.concat(starts.map((start) => this.#entries.subarray(start, start + hashBytes))),
      };
    }
  }

  /** The numbers of the entries in the order of their prefixes: a counting sort. */
  *#sorting(): Steps<Uint32Array> {
    const prefixOf = (entry: number): number => this.#entries.readUInt16BE(entry * entryBytes);
    /** Where the entries of each prefix begin; later, where the next one of it comes. */
    const next = new Uint32Array(prefixes + 1);
    for (let entry = 0; entry < this.#count; entry += 1) {
      next[prefixOf(entry) + 1]! += 1;
      if (entry % keysOfStep === 0) yield;
    }
    for (let prefix = 1; prefix <= prefixes; prefix += 1) next[prefix]! += next[prefix - 1]!;
    const order = new Uint32Array(this.#count);
    for (let entry = 0; entry < this.#count; entry += 1) {
      const prefix = prefixOf(entry);
      order[next[prefix]!] = entry;
      next[prefix]! += 1;
      if (entry % keysOfStep === 0) yield;
    }
    return order;
  }
}
