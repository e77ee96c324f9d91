/**
 * Runs of row IDs: consecutive rows with consecutive IDs. An overwrite compares runs instead of rows, because a client
 * that writes back rows it has read sends few runs.
 */
import type { Steps } from '../time-slices.ts';

/** `count` rows from `row` on have the IDs (version, ordinal, index) with indexes from `first` on. */
export interface RowIdRun {
  readonly version: bigint;
  readonly ordinal: number;
  readonly first: number;
  readonly count: number;
  readonly row: number;
}

const idBytes = 16;
/** The length of version and ordinal, with which an ID and an encoded run begin. */
const issuerBytes = 12;
/** The size of an encoded run (`findRowIdRuns`). */
export const runBytes = 24;

/** The runs of these row IDs (src/language/events/row-bodies.ts), in row order, 24 bytes each. */
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
    runs.readUInt32BE(run + 20) + count === row &&
    runs.readUInt32BE(run + 12) + count === bytes.readUInt32BE(id + 12) &&
    runs.readUInt32BE(run + 8) === bytes.readUInt32BE(id + 8) &&
    runs.readBigUInt64BE(run) === bytes.readBigUInt64BE(id)
  );
}

/** The rows of encoded runs: for each, its first row and its count. */
export function* rowsOfRuns(runs: Uint8Array): Generator<Pick<RowIdRun, 'row' | 'count'>> {
  const bytes = Buffer.from(runs.buffer, runs.byteOffset, runs.byteLength);
  for (let run = 0; run < bytes.length; run += runBytes)
    yield { row: bytes.readUInt32BE(run + 20), count: bytes.readUInt32BE(run + 16) };
}

/** The issuer of row IDs: the event of this version, for the rows of one extent. */
export type RowIdIssuer = Pick<RowIdRun, 'version' | 'ordinal'>;

/** How many runs, or comparisons of runs, one step handles: at most 10 ms of work. */
export const runsOfStep = 20_000;

/**
 * The parts of a body. `rows`: the number of rows. `runs`: encoded by `findRowIdRuns`; null if no row came with an ID.
 */
type Parts = readonly { readonly rows: number; readonly runs: Uint8Array | null }[];

/** The runs of several parts of a body as one list, in row order. */
export class RowIdRuns {
  /** Each issuer once, in the order of their first runs. */
  readonly issuers: readonly RowIdIssuer[];
  /** Whether these are all runs of the parts. */
  readonly isWhole: boolean;
  readonly #issuerOf: Uint32Array;
  readonly #first: Uint32Array;
  readonly #count: Uint32Array;
  readonly #row: Uint32Array;

  private constructor(issuers: readonly RowIdIssuer[], isWhole: boolean, numbers: readonly Uint32Array[]) {
    this.issuers = issuers;
    this.isWhole = isWhole;
    [this.#issuerOf, this.#first, this.#count, this.#row] = numbers as [
      Uint32Array,
      Uint32Array,
      Uint32Array,
      Uint32Array,
    ];
  }

  /** Reads runs until one would add an issuer beyond `issuersMax`. */
  static *read(parts: Parts, issuersMax = Infinity): Steps<RowIdRuns> {
    const issuers: RowIdIssuer[] = [];
    const known = new Map<string, number>();
    const length = parts.reduce((sum, { runs }) => sum + (runs?.length ?? 0) / runBytes, 0);
    const [issuerOf, first, count, row] = Array.from({ length: 4 }, () => new Uint32Array(length)) as [
      Uint32Array,
      Uint32Array,
      Uint32Array,
      Uint32Array,
    ];
    const readUpTo = (end: number): RowIdRuns =>
      new RowIdRuns(
        issuers,
        end === length,
        [issuerOf, first, count, row].map((of) => of.subarray(0, end)),
      );
    let [rowsBefore, place] = [0, 0];
    for (const { rows, runs } of parts) {
      const bytes = runs === null ? Buffer.alloc(0) : Buffer.from(runs.buffer, runs.byteOffset, runs.byteLength);
      for (let run = 0; run < bytes.length; run += runBytes, place += 1) {
        if (place % runsOfStep === 0) yield;
        const name = bytes.toString('latin1', run, run + issuerBytes);
        let issuer = known.get(name);
        if (issuer === undefined) {
          if (issuers.length === issuersMax) return readUpTo(place);
          issuer = issuers.push({ version: bytes.readBigUInt64BE(run), ordinal: bytes.readUInt32BE(run + 8) }) - 1;
          known.set(name, issuer);
        }
        issuerOf[place] = issuer;
        first[place] = bytes.readUInt32BE(run + 12);
        count[place] = bytes.readUInt32BE(run + 16);
        row[place] = bytes.readUInt32BE(run + 20) + rowsBefore;
      }
      rowsBefore += rows;
    }
    return readUpTo(length);
  }

  get length(): number {
    return this.#row.length;
  }

  at(place: number): RowIdRun {
    return {
      ...this.issuers[this.#issuerOf[place]!]!,
      first: this.#first[place]!,
      count: this.#count[place]!,
      row: this.#row[place]!,
    };
  }

  /** The index in `issuers` of the issuer of a run's IDs. */
  issuerAt(place: number): number {
    return this.#issuerOf[place]!;
  }

  /** The first row whose ID an earlier row has too; null if all IDs are different. */
  *findRepeated(): Steps<number | null> {
    const keys = new Float64Array(this.length);
    for (let place = 0; place < keys.length; place += 1)
      keys[place] = this.#issuerOf[place]! * 2 ** 32 + this.#first[place]!;
    yield;
    const places = yield* sortPlaces(keys);
    return (yield* this.#haveCommon(places)) ? yield* this.#findFirstRepeated(places) : null;
  }

  /** Whether any two runs share an ID. `places` are in ID order, so comparing neighbours is enough. */
  *#haveCommon(places: Uint32Array): Steps<boolean> {
    for (let at = 1; at < places.length; at += 1) {
      if (at % runsOfStep === 0) yield;
      if (this.#firstCommon(places[at - 1]!, places[at]!) !== null) return true;
    }
    return false;
  }

  /**
   * Unlinks the runs from a list in ID order, last row first, so that the neighbours of a run are runs of earlier rows.
   * The runs before the first repeating one are disjoint, so that run repeats an ID of one of its two neighbours. A
   * find in an earlier run replaces one in a later run.
   */
  *#findFirstRepeated(places: Uint32Array): Steps<number | null> {
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
      if (place % runsOfStep === 0) yield;
      const [previous, next] = [before[place]!, after[place]!];
      after[previous] = next;
      before[next] = previous;
      const index =
        (previous === none ? null : this.#firstCommon(place, previous)) ??
        (next === none ? null : this.#firstCommon(place, next));
      if (index !== null) found = this.#row[place]! + index - this.#first[place]!;
    }
    return found;
  }

  /** The first index that both runs contain; null if there is none. */
  #firstCommon(a: number, b: number): number | null {
    if (this.#issuerOf[a] !== this.#issuerOf[b]) return null;
    const index = Math.max(this.#first[a]!, this.#first[b]!);
    return index < this.#first[a]! + this.#count[a]! && index < this.#first[b]! + this.#count[b]! ? index : null;
  }
}

/**
 * The places of these keys, sorted by key. A merge sort in steps, because the sort of typed arrays would block the
 * thread until it is done.
 */
function* sortPlaces(keys: Float64Array): Steps<Uint32Array> {
  let from = new Uint32Array(keys.length).map((_, place) => place);
  if (keys.every((key, place) => place === 0 || keys[place - 1]! <= key)) return from;
  let to = new Uint32Array(keys.length);
  for (let width = 1, done = 0; width < keys.length; width *= 2) {
    for (let start = 0; start < keys.length; start += 2 * width, done += 2 * width) {
      if (done >= runsOfStep) {
        done = 0;
        yield;
      }
      merge(keys, from, to, start, width);
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Merges two neighbours of `width` sorted places each. */
function merge(keys: Float64Array, from: Uint32Array, to: Uint32Array, start: number, width: number): void {
  const middle = Math.min(start + width, from.length);
  const end = Math.min(middle + width, from.length);
  let [left, right] = [start, middle];
  for (let at = start; at < end; at += 1) {
    const takesLeft = left < middle && (right === end || keys[from[left]!]! <= keys[from[right]!]!);
    to[at] = takesLeft ? from[left++]! : from[right++]!;
  }
}
