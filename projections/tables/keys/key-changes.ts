/** Changes of the keys of rows. */
import type { KeyRuns } from './key-runs.ts';

/** The row that has a key. */
export interface KeyHolder {
  /** The local key of the row's extent, and the row's index in it. */
  readonly extent: bigint;
  readonly index: number;
  readonly rowId: string;
}

/** The index of the key of a table. `since` is the version of the event that began the index. */
export interface KeyIndex {
  readonly tableId: string;
  readonly since: bigint;
}

/** Rows of a table gave up the keys `freed`, and then rows took the keys `taken`. A key is the text of a `RowKey`. */
export interface KeysChange extends KeyIndex {
  readonly kind: 'keys';
  readonly freed: readonly string[];
  readonly taken: readonly (readonly [text: string, holder: KeyHolder])[];
}

/** The rows of a large body, a stash or a whole table took their keys. No other event follows in the same batch. */
export interface KeyRunsChange extends KeyIndex {
  readonly kind: 'keyRuns';
  readonly runs: KeyRuns;
  /** The local key of the extent of each part. */
  readonly extents: readonly bigint[];
}

/** An index ends, because its key was removed or replaced, or its rows were replaced. */
export interface EndedKeyChange extends KeyIndex {
  readonly kind: 'endedKey';
}

/** An entry of an index by the hash of its key (`hashOfKey`). */
export interface HashEntry {
  readonly hash: string;
  readonly extent: bigint;
  readonly index: number;
}

/** A declaration takes an index that was prepared for it: what has changed since the index was prepared. */
export interface PreparedKeysChange extends KeyIndex, ChangesOfPrepared {
  readonly kind: 'preparedKeys';
}

/** Changes of a prepared index. No two of them are of one key. */
export interface ChangesOfPrepared {
  /** The hashes of keys that no row has any more. */
  readonly freed: readonly string[];
  /** Keys that other rows have now, and keys that no row had. */
  readonly moved: readonly HashEntry[];
  readonly taken: readonly HashEntry[];
}
