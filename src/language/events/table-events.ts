/** Events of tables and their rows. */
import type { SchemaErrorMode } from '../values/decide-schema.ts';
import type { ColumnMisfits } from '../values/column-misfits.ts';
import type { ColumnChanges, GivenColumn, GivenDisplayName } from '../values/table-schema.ts';
import { unknownCost } from './cost-of-rows.ts';
import {
  defineEvent,
  ifMatch,
  json,
  newTable,
  optional,
  profile,
  row,
  rows,
  table,
  team,
  version,
  type Field,
} from './define-event.ts';
import type { RowLimits, TableLimits } from './limits.ts';
import { costOfSource, profileIn } from './row-source.ts';
import {
  costOfOperations,
  operationCost,
  operationsFromWire,
  operationsToWire,
  type RowOperation,
} from './row-operations.ts';

const onSchemaError = json<SchemaErrorMode>();

/** The first language in which tables have keys. */
export const languageOfKeys = 3;

/** The IDs of the columns of a key. */
const key: Field<readonly string[]> = { language: () => languageOfKeys };

/** The IDs of the columns of a key for an existing table. The decision may read all rows of the table. */
const declaredKey: Field<readonly string[] | null> = {
  cost: (ids) => (ids === null ? 0 : unknownCost),
  language: () => languageOfKeys,
};

/** An index into which the API has read the keys of all rows of the table. */
interface PreparedKey {
  /** The version of the table at which the rows were read. */
  readonly version: bigint;
  /** The number of the index. It is negative: those of other indexes are versions. */
  readonly index: bigint;
}

const preparedKey: Field<PreparedKey | null> = {
  toWire: (prepared) => prepared && { version: String(prepared.version), index: String(prepared.index) },
  fromWire: (wire) => wire && { version: BigInt(wire.version), index: BigInt(wire.index) },
  language: () => languageOfKeys,
};

/** If cells do not fit a new type: `abort` refuses the change of columns, `clear` empties these cells. */
type MisfitMode = 'abort' | 'clear';

/** Changes of columns, with all inputs of their decision except the table. */
export interface RequestedColumnChanges extends ColumnChanges {
  readonly columnsMax: number;
  readonly onMisfit: MisfitMode;
  /**
   * The cells that did not fit the new types when the API tried the table at this version; null: it has not tried the
   * rows.
   */
  readonly tried: { readonly version: bigint; readonly misfits: readonly ColumnMisfits[] } | null;
}

/** The first language in which columns change. */
export const languageOfColumnChanges = 3;

/** Upper bound for the cost of reading rows in the decision, which are few (projections/tables/load-trials.ts). */
const trialCost = 2_000_000;

const columnChanges: Field<RequestedColumnChanges> = {
  toWire: ({ tried, ...changes }) => ({
    ...changes,
    tried: tried && { ...tried, version: String(tried.version) },
  }),
  fromWire: (wire) => ({ ...wire, tried: wire.tried && { ...wire.tried, version: BigInt(wire.tried.version) } }),
  cost: ({ change }) => (change.some(({ type }) => type !== undefined) ? trialCost : 0),
  language: () => languageOfColumnChanges,
};

export const tableCreateRequested = defineEvent({
  type: 'TableCreateRequested',
  language: 1,
  fields: {
    teamId: team,
    tableId: newTable,
    name: json<string>(),
    /** Null: the columns are inferred from the rows. */
    columns: json<readonly GivenColumn[] | null>(),
    /** The IDs of the columns of its key; absent: it has none. */
    key: optional(key),
    onSchemaError,
    appsToLink: json<readonly string[] | null>(),
    limits: json<TableLimits>(),
    rows,
  },
});

export const tablePatchRequested = defineEvent({
  type: 'TablePatchRequested',
  language: 1,
  fields: {
    teamId: team,
    tableId: table,
    ifMatch,
    /** Null: unchanged. */
    name: json<string | null>(),
    columns: json<readonly GivenDisplayName[]>(),
    /** The IDs of the columns of its key; null: it has none; absent: unchanged. */
    key: optional(declaredKey),
    /**
     * Null: the API has not read the rows. Absent: no key is declared, or an earlier version wrote the event; then the
     * decision reads all rows.
     */
    preparedKey: optional(preparedKey),
    /** If present, `columns` is empty. */
    columnChanges: optional(columnChanges),
  },
});

export const tableDeleteRequested = defineEvent({
  type: 'TableDeleteRequested',
  language: 1,
  fields: { teamId: team, tableId: table, ifMatch },
});

/** Whether rows that exist, by the key of the table, are patched. */
const addMode: Field<'upsert'> = { language: () => languageOfKeys };

export const rowsAddRequested = defineEvent({
  type: 'RowsAddRequested',
  language: 1,
  fields: {
    teamId: team,
    tableId: table,
    ifMatch,
    onSchemaError,
    limits: json<RowLimits>(),
    /** Absent: all rows are added. `upsert`: JSON rows keep their nulls, which empty cells. */
    mode: optional(addMode),
    rows,
  },
  cost: ({ mode, rows: source }) =>
    costOfSource(source) + (mode === undefined ? 0 : (profileIn(source)?.rows ?? 0) * operationCost),
});

export const tableOverwriteRequested = defineEvent({
  type: 'TableOverwriteRequested',
  language: 1,
  fields: {
    teamId: team,
    tableId: table,
    ifMatch,
    /** The schema that replaces the table's; null: the table keeps its schema. */
    columns: json<readonly GivenColumn[] | null>(),
    /** The key in that schema; absent: it has none. */
    key: optional(key),
    onSchemaError,
    limits: json<RowLimits>(),
    rows,
  },
});

export const rowPatchRequested = defineEvent({
  type: 'RowPatchRequested',
  language: 1,
  fields: {
    teamId: team,
    tableId: table,
    row,
    ifMatch,
    onSchemaError,
    limits: json<RowLimits>(),
    /** The profile of the one row in the event's body. Nulls are columns to clear. */
    profile,
  },
});

export const rowDeleteRequested = defineEvent({
  type: 'RowDeleteRequested',
  language: 1,
  fields: { teamId: team, tableId: table, row, ifMatch },
});

const operations: Field<readonly RowOperation[]> = {
  toWire: operationsToWire,
  fromWire: operationsFromWire,
  cost: costOfOperations,
};

/** Several operations on the rows of a table: all take effect, in order, or none does. */
export const tableBatchRequested = defineEvent({
  type: 'TableBatchRequested',
  language: 3,
  fields: {
    teamId: team,
    tableId: table,
    ifMatch,
    onSchemaError,
    limits: json<RowLimits>(),
    operations,
    /** The version of the table at which a filter found the rows; absent: the client named them. */
    foundAt: optional(version),
    /** Of the rows in the event's body: with nulls where a patch clears a column. */
    profile,
  },
});
