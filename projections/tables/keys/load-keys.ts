/** Loads the rows that have the keys which events look up. */
import { tableOf } from '../../../src/language/events/event-names.ts';
import type { Event, EventOf } from '../../../src/language/events/event.ts';
import { applyPatch, presentersOf } from '../../../src/language/values/presentation.ts';
import { keyReaderOf } from '../../../src/language/values/row-key.ts';
import { parseRow, type Cell } from '../../../src/language/values/row-text.ts';
import type { TableSchema } from '../../../src/language/values/table-schema.ts';
import type { LoadingTables } from '../load-tables.ts';
import type { Table } from '../table.ts';
import type { TablesState, TableStates } from '../tables.state.ts';
import { carriedRows, keysOfRows } from './keys-of-rows.ts';
import { findHolders, type WantedKey } from './row-keys.store.ts';
import { keyOf, type TableKey } from './table-key.ts';

/** Loads the keys that the events look up in the present states. Earlier events may change which keys these are. */
export async function loadKeys({ tx, events, states, before }: LoadingTables): Promise<void> {
  const { keys } = states.tables;
  const wanted: WantedKey[] = [];
  const patched: PatchedRows = new Map();
  for (const event of events) {
    for (const key of missingKeys(states, event, patched)) {
      const known = before?.tables.keys.find(key, key.text);
      if (known === undefined) wanted.push(key);
      // Another event of the batch may have put the key already.
      else if (keys.find(key, key.text) === undefined) keys.put(key, key.text, known);
    }
  }
  if (wanted.length === 0) return;
  const holders = await findHolders(tx, wanted);
  for (const [at, holder] of holders.entries()) {
    const { text } = wanted[at]!;
    if (keys.find(wanted[at]!, text) === undefined) keys.put(wanted[at]!, text, holder);
  }
}

/** Whether a decision looks up a key that is not loaded, because an earlier event changed a row or the table's key. */
export function lacksKeys(states: TableStates, event: Event): boolean {
  return missingKeys(states, event, new Map()).length > 0;
}

/** The keys that a decision looks up and that are not loaded. Tables without a key cost next to nothing. */
function missingKeys({ tables }: TableStates, event: Event, patched: PatchedRows): readonly WantedKey[] {
  const tableId = tableOf(event.data);
  const table = tableId === null ? null : tables.table(tableId);
  if (table === null || table.keyColumns === null) return [];
  const schema = tables.schema(table);
  const key = keyOf(table, schema)!;
  return lookedUp(tables, event, { table, schema, key, patched })
    .filter((text) => tables.keys.find(key, text) === undefined)
    .map((text) => ({ tableId: table.id, since: key.since, text }));
}

/** What the keys of rows depend on, besides the event and the rows. */
interface KeyedTable {
  readonly table: Table;
  readonly schema: TableSchema;
  readonly key: TableKey;
  readonly patched: PatchedRows;
}

/**
 * The columns of keys in rows, as the patches of earlier events will leave them if none is refused. With it, one
 * look-up finds the keys for several patches of a row. By table and row.
 */
type PatchedRows = Map<string, string>;

/** The keys that new or patched rows will have. */
function lookedUp(tables: TablesState, event: Event, keyed: KeyedTable): readonly string[] {
  const { data } = event;
  if (data.type === 'RowPatchRequested') return keysOfPatch(tables, event as Event<typeof data>, keyed);
  if (data.type !== 'RowsAddRequested') return [];
  const source = carriedRows(event);
  if (source === null) return [];
  return [...new Set(keysOfRows(event, source, keyed.key, keyed.schema).flatMap((rowKey) => rowKey?.text ?? []))];
}

/** The key that the row will have; none if the patch does not change it, or is refused because of its cells. */
function keysOfPatch(
  tables: TablesState,
  event: Event<EventOf<'RowPatchRequested'>>,
  { table, schema, key: { columns }, patched }: KeyedTable,
): readonly string[] {
  const isInKey = ({ id }: Cell): boolean => columns.some((column) => column.id === id);
  // The columns come from the body: a part of a batch has no profile of its own.
  const patch = parseRow(Buffer.from(event.body()).toString()).filter(isInKey);
  if (patch.length === 0) return [];
  const row = tables.row(table, event.data.row);
  if (row === null || row.body === null) return [];
  const place = `${table.id} ${row.extent.key} ${row.index}`;
  const current = patched.get(place) ?? presentersOf(schema, table.widened)(row.form)(row.body);
  const cells = parseRow(current).filter(isInKey);
  const before = `{${cells.map(({ id, token }) => `${JSON.stringify(id)}:${token}`).join(',')}}`;
  const { body } = applyPatch(before, patch, schema, false, event.data.profile.rule);
  patched.set(place, body);
  const rowKey = keyReaderOf(columns)(body);
  return rowKey === null ? [] : [rowKey.text];
}
