import type { Event, EventOf } from '../../src/language/events/event.ts';
import { changeColumns, type ChangedColumns, type UnsafeChange } from '../../src/language/values/change-columns.ts';
import type { ColumnMisfits } from '../../src/language/values/column-misfits.ts';
import { displayColumns } from '../../src/language/values/display-columns.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { currentType, findColumn, type TableSchema } from '../../src/language/values/table-schema.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { unchangedTable } from './guards.ts';
import { checkGivenKey, declared, endKey, fixedColumns } from './keys/table-key.ts';

/**
 * Changes the name of a table, its columns and its key. Guards: table, suspension, If-Match, columns, cells, key. A
 * patch that changes nothing changes no version. Rows stay as they are stored. After every change except one of names
 * they read differently (docs/decisions/0077).
 */
export function decidePatchTable(
  states: TableStates,
  event: Event<EventOf<'TablePatchRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table } = found;
  const before = states.tables.schema(table);
  const changed = changedColumns(before, data, at.version);
  if ('refusal' in changed) return refusedWith(changed.refusal);

  const { schema, rereads, unsafe } = changed;
  const misfits = unsafe.length === 0 ? [] : misfitsOf(states, event, table);
  if (misfits === null) return apply([], table.version, { untried: true });
  if (misfits.length > 0 && data.columnChanges!.onMisfit === 'abort')
    return refusedWith(refusalOfMisfits(unsafe, misfits));

  const { key } = data;
  const noKey = key ? checkGivenKey(key, schema, 'key') : refusalOfKeptKey(table, before, data);
  if (noKey !== null) return refusedWith(noKey);
  const changesKey = key !== undefined && (key === null ? null : JSON.stringify(key)) !== table.keyColumns;
  // The rows of the table take their keys.
  const keys = changesKey && key !== null && table.rows > 0 ? states.tables.keys.foundKeys(event) : null;
  if (keys !== null && 'refusal' in keys) return refusedWith(keys.refusal);
  if (keys !== null && 'unread' in keys) return apply([], table.version, { untried: true });

  // After this point it must succeed.
  const result = unsafe.length === 0 ? {} : { misfits };
  const name = data.name ?? table.name;
  const since = (keys === null ? null : data.preparedKey?.index) ?? at.version;
  if (schema === before && name === table.name && !changesKey) return apply([], table.version, result);
  const next: Table = {
    ...table,
    name,
    version: at.version,
    schemaVersion: schema === before ? table.schemaVersion : at.version,
    widened: rereads ? at.version : table.widened,
    ...(changesKey ? declared(key, since) : {}),
  };
  const changes: TableChange[] = [{ kind: 'table', table: next }, ...(changesKey ? endKey(table) : [])];
  if (keys !== null)
    changes.push(
      'prepared' in keys
        ? { kind: 'preparedKeys', tableId: table.id, since, ...keys.prepared }
        : { kind: 'keyRuns', tableId: table.id, since, ...keys },
    );
  if (schema !== before) changes.push({ kind: 'schema', tableId: table.id, version: at.version, schema });
  return apply(changes, at.version, result);
}

/** The refusal of a change of columns that the key of the table does not allow; null without one. */
export function refusalOfKeptKey(
  table: Pick<Table, 'keyColumns'>,
  schema: TableSchema,
  { key, columnChanges }: EventOf<'TablePatchRequested'>,
): Refusal | null {
  const fixed = key === null || columnChanges === undefined ? undefined : fixedColumns(table);
  if (fixed === undefined) return null;
  const { remove, change } = columnChanges!;
  const removed = remove.findIndex((id) => fixed.has(id));
  const retyped = change.findIndex(
    ({ id, type }) => type !== undefined && fixed.has(id) && type !== currentType(findColumn(schema, id)!),
  );
  if (removed === -1 && retyped === -1) return null;
  const [place, id] =
    removed === -1 ? [`columns[${retyped}].type`, change[retyped]!.id] : [`remove[${removed}]`, remove[removed]!];
  const message = `${place}: the column ${JSON.stringify(id)} is in the key of the table, which must be removed first`;
  return { type: 'request_validation_error', message };
}

/** The schema with the changes of the event, at a version. */
export function changedColumns(
  schema: TableSchema,
  { columns, columnChanges }: EventOf<'TablePatchRequested'>,
  version: bigint,
): ChangedColumns | { readonly refusal: Refusal } {
  if (columnChanges !== undefined) return changeColumns(schema, columnChanges, version, columnChanges.columnsMax);
  const displayed = displayColumns(schema, columns);
  return 'refusal' in displayed ? displayed : { ...displayed, rereads: false, unsafe: [] };
}

/** The cells that do not fit the new types; null if the rows of this version were not tried. */
function misfitsOf(
  { tables }: TableStates,
  event: Event<EventOf<'TablePatchRequested'>>,
  { version }: Table,
): readonly ColumnMisfits[] | null {
  const { tried } = event.data.columnChanges!;
  return tables.trial(event) ?? (tried?.version === version ? tried.misfits : null);
}

/** The refusal of a change of types: it names the first column with a misfit. */
export function refusalOfMisfits(unsafe: readonly UnsafeChange[], misfits: readonly ColumnMisfits[]): Refusal {
  const { id, cells, rowId, value } = misfits[0]!;
  const { place, type } = unsafe.find((change) => change.id === id)!;
  const which = cells === 1 ? 'one cell does' : `${cells} cells do`;
  return {
    type: 'column_has_invalid_value',
    message: `${place}: ${which} not fit the type ${type}: the first is ${value}, in the row ${rowId}`,
  };
}
