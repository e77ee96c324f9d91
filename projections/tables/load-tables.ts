/** Loads the tables that events look up, with their schemas, open tails and named rows. */
import { namedBy, rowsOf, tableOf } from '../../src/language/events/event-names.ts';
import type { Event } from '../../src/language/events/event.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import type { Loading } from '../../src/log/model.ts';
import { findRows, findRowsOfExtents, findTails } from './extents.store.ts';
import type { RememberedTables } from './remembered-tables.ts';
import type { SchemaCache } from './schema-cache.ts';
import { findSchemas, findTables } from './tables.store.ts';
import type { StoredSchema, WantedPlace } from './table.ts';
import type { TableStates } from './tables.state.ts';

export type LoadingTables = Loading<TableStates, RememberedTables, SchemaCache>;

/** A row that an event names. */
export interface WantedRow extends RowAddress {
  readonly tableId: string;
}

/** The rows that events name, each once. */
export function rowsNamedBy(events: readonly Event[]): WantedRow[] {
  const rows = new Map<string, WantedRow>();
  for (const { data } of events) {
    const row = namedBy(data, 'row');
    if (row === null) continue;
    const tableId = tableOf(data)!;
    rows.set(`${tableId} ${row.version} ${row.ordinal} ${row.index}`, { ...row, tableId });
  }
  return [...rows.values()];
}

export async function loadTables(loading: LoadingTables): Promise<void> {
  const {
    tx,
    states: { tables: state },
    committed: schemas,
  } = loading;
  const tables = missingTables(loading);
  const tails = missingTails(loading);
  const rows = missingRows(loading);
  const unknownSchemas = tables.filter((tableId) => !schemas.knows(tableId));
  const [foundTables, foundTails, namedRows, rowsOfExtents, foundSchemas] = await Promise.all([
    tables.length === 0 ? [] : findTables(tx, tables),
    tails.length === 0 ? [] : findTails(tx, tails),
    rows.byId.length === 0 ? [] : findRows(tx, rows.byId),
    rows.byExtent.length === 0 ? [] : findRowsOfExtents(tx, rows.byExtent),
    unknownSchemas.length === 0 ? [] : findSchemas(tx, unknownSchemas),
  ]);
  for (const table of foundTables) state.put(table);
  for (const extent of foundTails) state.putExtent(extent);
  for (const row of [...namedRows, ...rowsOfExtents]) state.putRow(row);

  const putSchemas = (found: readonly StoredSchema[]): void => {
    for (const schema of found) {
      state.putSchema(schema);
      schemas.put(schema);
    }
  };
  putSchemas(foundSchemas);
  // The schema of these tables has changed since it was cached. This costs one more round trip per change of a schema.
  const stale = foundTables.filter((table) => {
    if (state.findSchema(table) !== null) return false;
    const schema = schemas.find(table.id, table.schemaVersion);
    if (schema) state.putSchema({ tableId: table.id, version: table.schemaVersion, schema });
    return !schema;
  });
  if (stale.length > 0)
    putSchemas(
      await findSchemas(
        tx,
        stale.map(({ id }) => id),
      ),
    );
}

/** The tables that are neither loaded nor remembered. */
function missingTables({ events, states: { tables: state }, remembered }: LoadingTables): string[] {
  const ids = new Set(events.flatMap(({ data }) => tableOf(data) ?? []));
  return [...ids].filter((id) => {
    if (state.find(id) !== null) return false;
    const known = remembered?.table(id) ?? null;
    if (known === null) return true;
    state.put(known.table);
    state.putSchema({ tableId: id, version: known.table.schemaVersion, schema: known.schema });
    return false;
  });
}

/** The tables to which an event adds a few rows, and whose tails are neither loaded nor remembered. */
function missingTails({ events, states: { tables: state }, remembered }: LoadingTables): string[] {
  const ids = new Set(
    events.flatMap(({ data }) => {
      return rowsOf(data)?.kind === 'few' ? (tableOf(data) ?? []) : [];
    }),
  );
  return [...ids].filter((id) => {
    const table = state.find(id);
    if (table === null) return true;
    const extent = table.tail === null ? null : (state.findExtent(table.tail) ?? remembered?.extent(table.tail));
    if (extent) state.putExtent(extent);
    return table.tail !== null && !extent;
  });
}

/** The rows that are not loaded yet, to be found by ID or in known extents. */
function missingRows({ events, states: { tables: state }, before, remembered }: LoadingTables): {
  readonly byId: readonly WantedRow[];
  readonly byExtent: readonly WantedPlace[];
} {
  const byId: WantedRow[] = [];
  const byExtent: WantedPlace[] = [];
  // Rows of an ended generation are skipped: no decision reads them, and they may be gone.
  for (const row of rowsNamedBy(events)) {
    const extent = state.extentOf(row.tableId, row) ?? remembered?.extentOf(row.tableId, row);
    const table = state.table(row.tableId);
    if (!extent || table === null) byId.push(row);
    else if (
      extent.generation === table.generation &&
      row.index < extent.rows &&
      state.findRow(extent.key, row.index) === null
    ) {
      state.putExtent(extent);
      const changed = before?.tables.findRow(extent.key, row.index) ?? remembered?.row(extent.key, row.index);
      if (changed) state.putRow(changed);
      else
        byExtent.push({
          extent,
          index: row.index,
          mayHaveChange: remembered?.mayHaveChange(extent.key, row.index) ?? true,
        });
    }
  }
  return { byId, byExtent };
}
