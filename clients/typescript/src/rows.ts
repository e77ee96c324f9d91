/**
 * Rows of a table, and queries on them (docs/spec/queries.md). `Row` is an object type with the columns of the table.
 */
import type { components } from './interface.ts';

/** What to do with cells that do not fit the schema. */
export type OnSchemaError = 'abort' | 'dropColumns' | 'updateSchema';

/** A row of a table whose columns are unknown. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** The IDs of the columns. */
export type ColumnOf<Row> = keyof Row & string;

/** A row as it is stored. Empty cells are left out. */
export type StoredRow<Row> = Readonly<Partial<Row>> & { readonly $rowID: string };

/** Changes of a row; null empties a cell. */
export type RowChanges<Row> = { readonly [Column in ColumnOf<Row>]?: Row[Column] | null };

/** A condition that rows must meet. */
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

/** A column to sort by. Use this form if the ID begins with a minus. */
export type SortKey<Column extends string> = Column extends string
  ? { readonly column: Column; readonly descending?: boolean }
  : never;

export interface RowsQuery<Row> {
  readonly filter?: Condition<Row>;
  /** Columns to sort by. A minus before a column means descending. If an ID begins with a minus, use `SortKey`. */
  readonly sort?: readonly (ColumnOf<Row> | `-${ColumnOf<Row>}` | SortKey<ColumnOf<Row>>)[];
  readonly fields?: readonly (ColumnOf<Row> | '$version')[];
  /** Whether pages have the number of rows that meet the filter. */
  readonly count?: 'exact';
  /** Rows in a page; default and maximum: 10,000. */
  readonly limit?: number;
}

/** Groups of rows, and what to compute for each group. */
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
