/**
 * Rows of a table, and what can be asked of them (docs/spec/queries.md). `Row` is an object type: the columns of the
 * table.
 */
import type { components } from './interface.ts';

/** What happens to cells that do not fit the schema. */
export type OnSchemaError = 'abort' | 'dropColumns' | 'updateSchema';

/** A row of a table about which nothing is known. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** The IDs of the columns. */
export type ColumnOf<Row> = keyof Row & string;

/** A row as it is stored: empty cells are left out. */
export type StoredRow<Row> = Readonly<Partial<Row>> & { readonly $rowID: string };

/** What is to become of a row: null empties a cell. */
export type RowChanges<Row> = { readonly [Column in ColumnOf<Row>]?: Row[Column] | null };

/** Which rows are asked for. */
export type Condition<Row> =
  | {
      readonly column: ColumnOf<Row> | '$rowID';
      readonly op: Exclude<ComparisonOp, 'in'>;
      readonly value?: unknown;
      readonly ignoreCase?: boolean;
    }
  | { readonly column: ColumnOf<Row> | '$rowID'; readonly op: 'in'; readonly value: readonly unknown[] }
  | { readonly and: readonly Condition<Row>[] }
  | { readonly or: readonly Condition<Row>[] }
  | { readonly not: Condition<Row> };
type ComparisonOp = Extract<components['schemas']['Condition'], { readonly op: unknown }>['op'];

/** A column that is sorted by, also one whose ID begins with a minus. */
export type SortKey<Column extends string> = Column extends string
  ? { readonly column: Column; readonly descending?: boolean }
  : never;

export interface RowsQuery<Row> {
  readonly filter?: Condition<Row>;
  /** Columns; a minus before one sorts downwards. One whose ID begins with a minus is a `SortKey`. */
  readonly sort?: readonly (ColumnOf<Row> | `-${ColumnOf<Row>}` | SortKey<ColumnOf<Row>>)[];
  readonly fields?: readonly (ColumnOf<Row> | '$version')[];
  /** Whether pages say how many rows meet the filter. */
  readonly count?: 'exact';
  /** How many rows a page has; 10,000 if omitted, which is the most. */
  readonly limit?: number;
}

/** Groups of rows, and what is computed of each. */
export interface GroupsQuery<Row> extends Omit<RowsQuery<Row>, 'fields' | 'sort' | 'count'> {
  readonly groupBy?: readonly ColumnOf<Row>[];
  readonly aggregate: readonly {
    readonly op: 'count' | 'countDistinct' | 'sum' | 'avg' | 'min' | 'max';
    readonly column?: ColumnOf<Row>;
    readonly as?: string;
  }[];
  /** Columns of the groups, and names of aggregates. */
  readonly sort?: readonly (string | SortKey<string>)[];
}
