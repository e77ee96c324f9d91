/**
 * The row IDs that rows came with, as runs: consecutive rows with consecutive IDs. An overwrite looks at runs rather than rows: a
 * client that writes back the rows it read sends few runs.
 */

/** `count` rows from `row` on have the IDs of (version, ordinal) from the index `first` on. */
export interface RowIdRun {
  readonly version: bigint;
  readonly ordinal: number;
  readonly first: number;
  readonly count: number;
  readonly row: number;
}

const idBytes = 16;
/** The size of an encoded run (`findRowIdRuns`). */
export const runBytes = 24;

/** The runs of these row IDs (see src/events/row-bodies.ts), in row order, 24 bytes each. */
export function findRowIdRuns(ids: Uint8Array): Uint8Array {
  const bytes = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  const rows = bytes.length / idBytes;
  const runs = Buffer.alloc(rows * runBytes);
  let length = 0;
  for (let row = 0; row < rows; row += 1) {
    const id = row * idBytes;
    if (bytes.readBigUInt64BE(id) === 0n) continue;
    const last = length - runBytes;
    if (last >= 0 && goesOn(runs, last, bytes, id, row)) {
      runs.writeUInt32BE(runs.readUInt32BE(last + 16) + 1, last + 16);
      continue;
    }
    bytes.copy(runs, length, id, id + idBytes);
    runs.writeUInt32BE(1, length + 16);
    runs.writeUInt32BE(row, length + 20);
    length += runBytes;
  }
  return runs.subarray(0, length);
}

/** Whether the ID at `id`, and its row, continue the run at `run`. */
function goesOn(runs: Buffer, run: number, bytes: Buffer, id: number, row: number): boolean {
  const count = runs.readUInt32BE(run + 16);
  return (
    runs.readUInt32BE(run + 20) + count === row
    && runs.readUInt32BE(run + 12) + count === bytes.readUInt32BE(id + 12)
    && runs.readUInt32BE(run + 8) === bytes.readUInt32BE(id + 8)
    && runs.readBigUInt64BE(run) === bytes.readBigUInt64BE(id)
  );
}

/** The first index whose ID both runs contain; null if there is none. */
function firstCommon(a: RowIdRun, b: RowIdRun): number | null {
  if (a.version !== b.version || a.ordinal !== b.ordinal) return null;
  const index = Math.max(a.first, b.first);
  return index < a.first + a.count && index < b.first + b.count ? index : null;
}

/** The runs of several parts of a body as one list, in row order. */
export class RowIdRuns {
  readonly #bytes: Buffer;

  /** `parts`: the number of rows of each, and its runs as encoded by `findRowIdRuns`; null if no row came with an ID. */
  constructor(parts: readonly { readonly rows: number; readonly runs: Uint8Array | null }[]) {
    let before = 0;
    this.#bytes = Buffer.concat(parts.map(({ rows, runs }) => {
      const shifted = Buffer.from(runs ?? []);
      for (let row = 20; row < shifted.length; row += runBytes) shifted.writeUInt32BE(shifted.readUInt32BE(row) + before, row);
      before += rows;
      return shifted;
    }));
  }

  get length(): number {
    return this.#bytes.length / runBytes;
  }

  at(place: number): RowIdRun {
    const start = place * runBytes;
    const bytes = this.#bytes;
    return {
      version: bytes.readBigUInt64BE(start), ordinal: bytes.readUInt32BE(start + 8), first: bytes.readUInt32BE(start + 12),
      count: bytes.readUInt32BE(start + 16), row: bytes.readUInt32BE(start + 20),
    };
  }

  *[Symbol.iterator](): Generator<RowIdRun> {
    for (let place = 0; place < this.length; place += 1) yield this.at(place);
  }

  /** The first row whose ID an earlier row has too; null if all IDs are different. */
  findRepeated(): number | null {
    const places = new Uint32Array(this.length).map((_, place) => place);
    if (!this.#isSorted()) places.sort((a, b) => this.#compare(a, b));
    return this.#haveCommon(places) ? this.#findFirstRepeated(places) : null;
  }

  /** Whether any two runs share an ID. `places` are in ID order, so it suffices to compare neighbours. */
  #haveCommon(places: Uint32Array): boolean {
    for (let at = 1; at < places.length; at += 1) {
      if (firstCommon(this.at(places[at - 1]!), this.at(places[at]!)) !== null) return true;
    }
    return false;
  }

  /**
   * Unlinks the runs from a list in ID order, last row first, so that the neighbours of a run are runs of earlier rows. The runs
   * before the first repeating one are disjoint, so what it repeats is in one of its two neighbours. A find in an earlier run
   * replaces one in a later run.
   */
  #findFirstRepeated(places: Uint32Array): number | null {
    const none = places.length;
    const before = new Uint32Array(none + 1);
    const after = new Uint32Array(none + 1);
    let last = none;
    for (const place of places) {
      before[place] = last;
      after[last] = place;
      last = place;
    }
    before[none] = last;
    after[last] = none;
    let found: number | null = null;
    for (let place = none - 1; place >= 0; place -= 1) {
      const [previous, next] = [before[place]!, after[place]!];
      after[previous] = next;
      before[next] = previous;
      const run = this.at(place);
      const index = (previous === none ? null : firstCommon(run, this.at(previous))) ?? (next === none ? null : firstCommon(run, this.at(next)));
      if (index !== null) found = run.row + index - run.first;
    }
    return found;
  }

  #isSorted(): boolean {
    for (let place = 1; place < this.length; place += 1) {
      if (this.#compare(place - 1, place) > 0) return false;
    }
    return true;
  }

  /** Compares version, ordinal and first, which are stored big-endian. */
  #compare(a: number, b: number): number {
    const bytes = this.#bytes;
    for (let at = 0; at < idBytes; at += 4) {
      const difference = bytes.readUInt32BE(a * runBytes + at) - bytes.readUInt32BE(b * runBytes + at);
      if (difference !== 0) return difference;
    }
    return 0;
  }
}
