/** The changes of the keys of rows. */
import type { KeyRuns } from './key-runs.ts';

/** The row that has a key. */
export interface KeyHolder {
  /** The local key of its extent, and its index there. */
  readonly extent: bigint;
  readonly index: number;
  readonly rowId: string;
}

/** The index of a key: of a table, since the version of the event that began it. */
export interface KeyIndex {
  readonly tableId: string;
  readonly since: bigint;
}

/** Rows of a table have lost keys, and then others have got keys. Keys are texts of `RowKey`. */
export interface KeysChange extends KeyIndex {
  readonly kind: 'keys';
  readonly freed: readonly string[];
  readonly taken: readonly (readonly [text: string, holder: KeyHolder])[];
}

/** The rows of a large body, a stash or a whole table have taken their keys. Nothing follows it in its batch. */
export interface KeyRunsChange extends KeyIndex {
  readonly kind: 'keyRuns';
  readonly runs: KeyRuns;
  /** The local keys of the extents that its parts are. */
  readonly extents: readonly bigint[];
}

/** An index ends, because its key was removed or replaced, or its rows were replaced. */
export interface EndedKeyChange extends KeyIndex {
  readonly kind: 'endedKey';
}
