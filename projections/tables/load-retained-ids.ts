/**
 * Loads the retained row IDs that decisions look up: for rows that an event names by such an ID, and for overwrites whose rows come with
 * IDs. All tables are loaded by then; only those with retained IDs are searched.
 */
import type { Event, EventOf } from '../../src/events/event.ts';
import type { RowIdRun, RowIdRuns } from '../../src/events/row-id-runs.ts';
import { formatRowId } from '../../src/events/row-id.ts';
import { rowIdsOfEvent, runsOf, type PartWithIds } from '../segments/row-ids-of-event.ts';
import type { RetainedId } from './retained-ids.ts';
import { findRetainedIds } from './retained-ids.store.ts';
import { findExtents, findExtentsOfSegments, findRowsOfExtents } from './extents.store.ts';
import { rowsNamedBy, type LoadingTables, type WantedRow } from './load-tables.ts';
import type { Extent, Table } from './table.ts';
import type { TableStates } from './tables.state.ts';

/** A row of a table in which rows retain IDs. */
interface NamedRow {
  readonly row: WantedRow;
  readonly table: Table;
}

export async function loadRetainedIds(loading: LoadingTables): Promise<void> {
  const { events, states: { tables: state }, before } = loading;
  for (const retained of before?.tables.newRetainedIds ?? []) state.putRetainedId(retained);
  await loadIssuingExtents(loading);
  // Other rows are at the places that their IDs name.
  const named = rowsNamedBy(events).flatMap((row): NamedRow[] => {
    const table = state.table(row.tableId);
    const isElsewhere = table?.retainsIds && state.extentOf(row.tableId, row)?.generation !== table.generation;
    return isElsewhere ? [{ row, table }] : [];
  });
  if (named.length > 0) await loadNamedRows(loading, named);
}

/** The extents, of any generation, that issued the IDs with which rows of overwrites come. */
async function loadIssuingExtents({ tx, events, states, remembered }: LoadingTables): Promise<void> {
  const state = states.tables;
  const missing = new Map<string, Pick<RowIdRun, 'version' | 'ordinal'> & { tableId: string }>();
  for (const event of events) {
    const { data } = event;
    if (data.type !== 'TableOverwriteRequested') continue;
    const { tableId } = data;
    for (const { version, ordinal } of idsOf(states, event, data) ?? []) {
      const key = `${tableId} ${version} ${ordinal}`;
      if (missing.has(key) || state.extentOf(tableId, { version, ordinal }) !== null) continue;
      const extent = remembered?.extentOf(tableId, { version, ordinal });
      if (extent) state.putExtent(extent);
      else missing.set(key, { tableId, version, ordinal });
    }
  }
  if (missing.size === 0) return;
  for (const extent of await findExtents(tx, [...missing.values()])) state.putExtent(extent);
}

/** The IDs with which the rows of an overwrite come; null if there are none, or too many to check, in which case it is refused. */
function idsOf({ segments, stashes }: TableStates, event: Event, { teamId, rows }: EventOf<'TableOverwriteRequested'>): RowIdRuns | null {
  if (rows.kind === 'few' || rows.kind === 'block') return rowIdsOfEvent(event, rows)?.runs ?? null;
  let parts: readonly PartWithIds[] = [];
  if (rows.kind === 'body') parts = segments.allBodyBlocks(rows.bodyId).toSorted((a, b) => a.number - b.number);
  if (rows.kind === 'stash') {
    const stash = stashes.stash(teamId, rows.stashId);
    if (stash !== null && stash.endedAt === null) parts = stashes.content(stash.key).segments;
  }
  const runs = runsOf(parts);
  return runs === 'tooMany' ? null : runs;
}

/** The rows with these IDs, wherever they are in the present generations. */
async function loadNamedRows(loading: LoadingTables, named: readonly NamedRow[]): Promise<void> {
  const { tx, states: { tables: state }, before } = loading;
  const inFlight = before?.tables.newRetainingExtents() ?? [];
  const retained = await findRetainedIds(tx, {
    ids: [...new Set(named.map(({ row }) => formatRowId(row)))],
    tableIds: [...new Set(named.map(({ table }) => table.id))],
    segments: [...inFlight, ...state.newRetainingExtents()].map(({ segment }) => segment),
  });
  for (const each of retained) state.putRetainedId(each);
  await loadExtentsOf(loading, named, retained);

  const wanted: { extent: Extent; index: number }[] = [];
  for (const { row, table } of named) {
    const place = state.rowByRetainedId(table, formatRowId(row));
    if (place === null || state.findRow(place.extent.key, place.index) !== null) continue;
    const changed = before?.tables.findRow(place.extent.key, place.index);
    if (changed) state.putRow(changed);
    else wanted.push(place);
  }
  if (wanted.length === 0) return;
  for (const row of await findRowsOfExtents(tx, wanted)) state.putRow(row);
}

/** The extents of the present generations of these tables whose segments hold the IDs. */
async function loadExtentsOf(
  { tx, states: { tables: state }, before, remembered }: LoadingTables,
  named: readonly NamedRow[],
  retained: readonly RetainedId[],
): Promise<void> {
  for (const extent of before?.tables.newRetainingExtents() ?? []) {
    if (state.findExtent(extent.key) === null) state.putExtent(extent);
  }
  const segments = [...new Set(retained.map(({ segment }) => segment))];
  if (segments.length === 0) return;
  const tables = [...new Map(named.map(({ table }) => [table.id, table])).values()];
  for (const extent of await findExtentsOfSegments(tx, segments, tables)) {
    if (state.findExtent(extent.key) === null) state.putExtent(remembered?.extent(extent.key) ?? extent);
  }
}
