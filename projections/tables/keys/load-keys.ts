/** Loads the keys which events look up, and the rows that have them if an upsert may patch them. */
import { tableOf } from '../../../src/language/events/event-names.ts';
import type { Event, EventOf } from '../../../src/language/events/event.ts';
import { applyPatch, presentersOf } from '../../../src/language/values/presentation.ts';
import { keyReaderOf } from '../../../src/language/values/row-key.ts';
import { parseRow, type Cell } from '../../../src/language/values/row-text.ts';
import type { TableSchema } from '../../../src/language/values/table-schema.ts';
import { findExtentsByKey, findRowsOfExtents } from '../extents.store.ts';
import type { LoadingTables } from '../load-tables.ts';
import type { Table, WantedPlace } from '../table.ts';
import type { TablesState, TableStates } from '../tables.state.ts';
import type { KeyHolder } from './key-changes.ts';
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

/**
 * Whether a decision looks up a key, or the row that has it, and that is not loaded, because an earlier event has
 * changed what it looks up.
 */
export function lacksKeyed(states: TableStates, event: Event): boolean {
  return missingKeys(states, event, new Map()).length > 0 || missingUpserted(states, event).length > 0;
}

/** Loads the rows that upserts patch. */
export async function loadUpserted({ tx, events, states, before, remembered }: LoadingTables): Promise<void> {
  const { tables } = states;
  const holders = events.flatMap((event) => missingUpserted(states, event));
  if (holders.length === 0) return;
  for (const { extent } of holders) {
    const known = tables.findExtent(extent) === null ? remembered?.extent(extent) : null;
    if (known) tables.putExtent(known);
  }
  const unknown = new Set(holders.map(({ extent }) => extent).filter((key) => tables.findExtent(key) === null));
  for (const extent of await findExtentsByKey(tx, [...unknown])) tables.putExtent(extent);
  const wanted: WantedPlace[] = [];
  for (const { extent: key, index } of holders) {
    const changed = before?.tables.findRow(key, index) ?? remembered?.row(key, index);
    if (changed) tables.putRow(changed);
    else {
      const mayHaveChange = remembered?.mayHaveChange(key, index) ?? true;
      wanted.push({ extent: tables.extent(key), index, mayHaveChange });
    }
  }
  for (const row of wanted.length === 0 ? [] : await findRowsOfExtents(tx, wanted)) tables.putRow(row);
}

/** The rows that an upsert patches and that are not loaded, each once, if their keys are loaded. */
function missingUpserted(states: TableStates, event: Event): readonly KeyHolder[] {
  const { data } = event;
  if (data.type !== 'RowsAddRequested' || data.mode !== 'upsert') return [];
  const { tables } = states;
  const table = tables.table(data.tableId);
  if (table === null || table.keyColumns === null) return [];
  const schema = tables.schema(table);
  const key = keyOf(table, schema)!;
  return lookedUp(tables, event, { table, schema, key, patched: new Map() }).flatMap((text) => {
    const holder = tables.keys.find(key, text) ?? null;
    return holder === null || tables.findRow(holder.extent, holder.index) !== null ? [] : [holder];
  });
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
