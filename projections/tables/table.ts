/** Tables and their parts, and the changes of both. */
import type { BodyForm } from '../../src/language/values/presentation.ts';
import type { Rule } from '../../src/language/values/rule.ts';
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import type { TeamChange } from '../teams/team.ts';
import type { EndedKeyChange, KeyRunsChange, KeysChange, PreparedKeysChange } from './keys/key-changes.ts';

export interface Table {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  readonly created: bigint;
  /** The time of the record that created it, in milliseconds. */
  readonly createdAt: number;
  readonly version: bigint;
  readonly generation: bigint;
  readonly schemaVersion: bigint;
  /** The version of the last change of its schema after which older bodies read differently (docs/decisions/0077). */
  readonly widened: bigint;
  readonly rows: number;
  readonly rowBytesMax: number;
  /** The key of the open tail extent. */
  readonly tail: bigint | null;
  /** If true, decisions treat the table as missing. */
  readonly deleted: boolean;
  /** Whether rows of the present generation retain row IDs of earlier ones. */
  readonly retainsIds: boolean;
  /** The IDs of the columns of its key, as a JSON array; null: it has none. */
  readonly keyColumns: string | null;
  /** The version of the event that began the index of the key (keys/); null: it has none. */
  readonly keySince: bigint | null;
}

/** A generation that an overwrite replaced, or that ended with its table. */
export interface Generation {
  readonly tableId: string;
  readonly version: bigint;
  readonly ended: bigint;
  readonly endedAt: number;
  readonly schemaVersion: bigint;
  readonly widened: bigint;
}

export interface Extent {
  readonly key: bigint;
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
  readonly generation: bigint;
  readonly schemaVersion: bigint;
  readonly wrap: boolean;
  readonly rule: Rule;
  /** The version of the schema that presented the stored bodies; null: they are stored as received. */
  readonly presented: bigint | null;
  readonly cells: boolean;
  /** Which rows retain row IDs of earlier generations (retained-places.ts); null: none. */
  readonly retained: Uint8Array | null;
  readonly segment: bigint;
  readonly first: number;
  readonly rows: number;
  readonly bytes: number;
  readonly changed: boolean;
  readonly deleted: number;
}

/** New rows of an extent: from this index on, in order. */
export interface PlacedRows {
  readonly extent: Extent;
  readonly first: number;
  readonly count: number;
}

/**
 * The row IDs that the event of a version issued under an ordinal: all rows of an extent, except those that retain an
 * ID.
 */
export type IssuedIds = Pick<Extent, 'tableId' | 'version' | 'ordinal' | 'rows' | 'retained'>;

/** A stored row: its newest body, with the version and stored form of that body. */
export interface StoredRow {
  readonly extent: Extent;
  readonly index: number;
  readonly version: bigint;
  /** Null: deleted. */
  readonly body: string | null;
  /** How the body is stored. */
  readonly form: BodyForm;
  /**
   * Whether the row was patched or deleted, possibly by this batch or the one in flight. Then its body is in a change,
   * not in its segment.
   */
  readonly isChange: boolean;
}

/** A row to look up in a known extent. */
export interface WantedPlace {
  readonly extent: Extent;
  /** Below the number of rows of the extent. */
  readonly index: number;
  /** False: the row was never patched or deleted, so its change need not be looked up. */
  readonly mayHaveChange: boolean;
}

export interface StoredSchema {
  readonly tableId: string;
  readonly version: bigint;
  readonly schema: TableSchema;
}

export interface AppLink {
  readonly tableId: string;
  readonly appId: string;
}

/** A row that has joined a tail. */
export interface TailRow {
  readonly segment: bigint;
  readonly index: number;
  readonly version: bigint;
  readonly body: string;
}

/** Rows have joined the tail of a team's table. `ids`: the row IDs that they retain; null if they retain none. */
export interface TailRowsChange {
  readonly kind: 'tailRows';
  readonly teamId: string;
  readonly extent: Extent;
  readonly first: number;
  readonly version: bigint;
  readonly bodies: readonly string[];
  readonly ids: readonly (string | null)[] | null;
}

/** A row of a team's table has a new body; null: it was deleted. */
export interface RowChange {
  readonly kind: 'row';
  readonly teamId: string;
  readonly extent: Extent;
  readonly index: number;
  readonly version: bigint;
  readonly before: string;
  readonly body: string | null;
}

export type TableChange =
  | TeamChange
  | { readonly kind: 'table'; readonly table: Table }
  | { readonly kind: 'appLinks'; readonly tableId: string; readonly appIds: readonly string[] }
  | ({ readonly kind: 'schema' } & StoredSchema)
  | { readonly kind: 'extent'; readonly extent: Extent }
  | { readonly kind: 'generation'; readonly generation: Generation }
  | TailRowsChange
  | RowChange
  | KeysChange
  | KeyRunsChange
  | PreparedKeysChange
  | EndedKeyChange;
