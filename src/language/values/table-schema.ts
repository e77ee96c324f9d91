/**
 * The schema of a table: its columns in display order, each with all types that it has had. Older types stay in the
 * list, because a read converts a value from the type under which it was decided to each later type in turn
 * (docs/spec/decisions.md 2). If a column is removed and added again, it is a new column with a new list of types
 * (docs/decisions/0077).
 */
import type { ColumnType } from './column-type.ts';

/** A type that a column has had since this version of its table. */
interface TypeEntry {
  readonly since: bigint;
  readonly type: ColumnType;
}

export interface SchemaColumn {
  readonly id: string;
  readonly displayName?: string;
  /** Oldest first; at least one. The last is the current type. */
  readonly types: readonly TypeEntry[];
}

export interface TableSchema {
  readonly columns: readonly SchemaColumn[];
}

/** A column as a client defines it, with its type's canonical name. */
export interface GivenColumn {
  readonly id: string;
  readonly displayName?: string | undefined;
  readonly type: ColumnType;
}

/** A new display name for a column; null removes it. */
export interface GivenDisplayName {
  readonly id: string;
  readonly displayName: string | null;
}

/** A change of a column. Absent members do not change. */
export interface GivenColumnChange {
  readonly id: string;
  readonly displayName?: string | null | undefined;
  readonly type?: ColumnType | undefined;
}

/**
 * Changes of the columns of a table. They take effect in this order: `remove` removes columns, `change` changes others,
 * `add` appends new ones, and `order` puts the columns that it lists first.
 */
export interface ColumnChanges {
  readonly remove: readonly string[];
  readonly change: readonly GivenColumnChange[];
  readonly add: readonly GivenColumn[];
  readonly order: readonly string[];
}

/** The schema with these columns, valid from the version of the event that brings it. */
export function schemaOf(columns: readonly GivenColumn[], since: bigint): TableSchema {
  return {
    columns: columns.map(({ id, displayName, type }): SchemaColumn => ({
      id,
      ...(displayName === undefined ? {} : { displayName }),
      types: [{ since, type }],
    })),
  };
}

export function currentType(column: SchemaColumn): ColumnType {
  return column.types.at(-1)!.type;
}

/** The column's type as of a version; undefined if the column did not exist then. */
export function typeAt(column: SchemaColumn, version: bigint): ColumnType | undefined {
  return column.types.findLast((entry) => entry.since <= version)?.type;
}

const placesOfSchemas = new WeakMap<TableSchema, ReadonlyMap<string, number>>();

/** The position of each column in its schema, by ID. Cached per schema, because every write needs it. */
export function columnPlaces(schema: TableSchema): ReadonlyMap<string, number> {
  let places = placesOfSchemas.get(schema);
  if (places === undefined) {
    places = new Map(schema.columns.map((column, place) => [column.id, place]));
    placesOfSchemas.set(schema, places);
  }
  return places;
}

/** The column with this ID, if the schema has it. */
export function findColumn(schema: TableSchema, id: string): SchemaColumn | undefined {
  const place = columnPlaces(schema).get(id);
  return place === undefined ? undefined : schema.columns[place];
}

/** A schema in JSON, with versions as decimal strings. */
interface EncodedSchema {
  readonly columns: readonly {
    readonly id: string;
    readonly displayName?: string;
    readonly types: readonly { readonly since: string; readonly type: ColumnType }[];
  }[];
}

export function encodeSchema(schema: TableSchema): EncodedSchema {
  return {
    columns: schema.columns.map((column) => ({
      ...column,
      types: column.types.map(({ since, type }) => ({ since: since.toString(), type })),
    })),
  };
}

export function decodeSchema(encoded: EncodedSchema): TableSchema {
  return {
    columns: encoded.columns.map((column) => ({
      ...column,
      types: column.types.map(({ since, type }) => ({ since: BigInt(since), type })),
    })),
  };
}
