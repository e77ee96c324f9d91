/** Loads what events look up of tables: the tables with their teams and schemas, their open tails, and rows. */
import type { Event, RowAddress } from '../../src/events/event.ts';
import type { Loading } from '../engine/model.ts';
import { findRows, findRowsOfLinks, findTails } from './links.store.ts';
import type { RememberedTables } from './remembered-tables.ts';
import type { SchemaCache } from './schema-cache.ts';
import { findSchemas, findTables } from './tables.store.ts';
import type { Link, StoredSchema } from './table.ts';
import type { TableStates } from './tables.state.ts';

export type LoadingTables = Loading<TableStates, RememberedTables, SchemaCache>;

/** A row that an event names. */
export interface WantedRow extends RowAddress {
  readonly tableId: string;
}

export function rowsNamedBy(events: readonly Event[]): WantedRow[] {
  return events.flatMap(({ data }) => ('row' in data ? [{ ...data.row, tableId: data.tableId }] : []));
}

export async function loadTables(loading: LoadingTables): Promise<void> {
  const { tx, states: { tables: state, teams }, before, committed: schemas } = loading;
  const tables = missingTables(loading);
  const tails = missingTails(loading);
  const rows = missingRows(loading);
  const unknownSchemas = tables.filter((tableId) => !schemas.knows(tableId));
  const [foundTables, foundTails, namedRows, rowsOfLinks, foundSchemas] = await Promise.all([
    tables.length === 0 ? [] : findTables(tx, tables),
    tails.length === 0 ? [] : findTails(tx, tails),
    rows.byId.length === 0 ? [] : findRows(tx, rows.byId),
    rows.byLink.length === 0 ? [] : findRowsOfLinks(tx, rows.byLink),
    unknownSchemas.length === 0 ? [] : findSchemas(tx, unknownSchemas),
  ]);
  for (const { table, team } of foundTables) {
    state.put(table);
    if (teams.team(team.id) === null) teams.put(before?.teams.team(team.id) ?? team);
  }
  for (const link of foundTails) state.putLink(link);
  for (const row of [...namedRows, ...rowsOfLinks]) state.putRow(row);

  const putSchemas = (found: readonly StoredSchema[]): void => {
    for (const schema of found) {
      state.putSchema(schema);
      schemas.put(schema);
    }
  };
  putSchemas(foundSchemas);
  // A table whose schema moved since it was cached: one more round trip, once for each change of a schema.
  const stale = foundTables.filter(({ table }) => {
    if (state.findSchema(table) !== null) return false;
    const schema = schemas.find(table.id, table.schemaVersion);
    if (schema) state.putSchema({ tableId: table.id, version: table.schemaVersion, schema });
    return !schema;
  });
  if (stale.length > 0) putSchemas(await findSchemas(tx, stale.map(({ table }) => table.id)));
}

/** The tables that are neither known nor remembered. One that is remembered without its team is loaded, because its team comes with it. */
function missingTables({ events, states: { tables: state, teams }, remembered }: LoadingTables): string[] {
  const ids = new Set(events.flatMap(({ data }) => ('tableId' in data ? [data.tableId] : [])));
  return [...ids].filter((id) => {
    if (state.find(id) !== null) return false;
    const known = remembered?.table(id) ?? null;
    if (known === null || teams.team(known.table.teamId) === null) return true;
    state.put(known.table);
    state.putSchema({ tableId: id, version: known.table.schemaVersion, schema: known.schema });
    return false;
  });
}

/** The tables that few rows are added to, and whose tails are neither known nor remembered. */
function missingTails({ events, states: { tables: state }, remembered }: LoadingTables): string[] {
  const ids = new Set(events.flatMap(({ data }) => {
    return 'rows' in data && 'tableId' in data && data.rows.kind === 'few' ? [data.tableId] : [];
  }));
  return [...ids].filter((id) => {
    const table = state.find(id);
    if (table === null) return true;
    const link = table.tail === null ? null : (state.findLink(table.tail) ?? remembered?.link(table.tail));
    if (link) state.putLink(link);
    return table.tail !== null && !link;
  });
}

/** The rows that are not known yet: by their IDs, or within links that are known. */
function missingRows({ events, states: { tables: state }, before, remembered }: LoadingTables): {
  readonly byId: readonly WantedRow[];
  readonly byLink: readonly { readonly link: Link; readonly index: number }[];
} {
  const byId: WantedRow[] = [];
  const byLink: { link: Link; index: number }[] = [];
  // Rows of a generation that has ended, or of a table that was deleted, are nobody's, and may not be there any more.
  for (const row of rowsNamedBy(events)) {
    const link = state.linkOf(row.tableId, row) ?? remembered?.linkOf(row.tableId, row);
    const table = state.table(row.tableId);
    if (!link || table === null) byId.push(row);
    else if (link.generation === table.generation && row.index < link.rows && state.findRow(link.key, row.index) === null) {
      state.putLink(link);
      const changed = before?.tables.findRow(link.key, row.index);
      if (changed) state.putRow(changed);
      else byLink.push({ link, index: row.index });
    }
  }
  return { byId, byLink };
}
