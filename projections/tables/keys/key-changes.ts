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
