/** Events of tables and their rows. */
import type { SchemaErrorMode } from '../values/decide-schema.ts';
import type { GivenColumn, GivenDisplayName } from '../values/table-schema.ts';
import { defineEvent, ifMatch, json, newTable, profile, row, rows, table, team } from './define-event.ts';
import type { RowLimits, TableLimits } from './limits.ts';

const onSchemaError = json<SchemaErrorMode>();

export const tableCreateRequested = defineEvent({
  type: 'TableCreateRequested',
  language: 1,
  fields: {
    teamId: team,
    tableId: newTable,
    name: json<string>(),
    /** Null: the columns are inferred from the rows. */
    columns: json<readonly GivenColumn[] | null>(),
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
  },
});

export const tableDeleteRequested = defineEvent({
  type: 'TableDeleteRequested',
  language: 1,
  fields: { teamId: team, tableId: table, ifMatch },
});

export const rowsAddRequested = defineEvent({
  type: 'RowsAddRequested',
  language: 1,
  fields: { teamId: team, tableId: table, ifMatch, onSchemaError, limits: json<RowLimits>(), rows },
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
