/**
 * Loads the retained row IDs that decisions look up: for events that name a row by such an ID, and for overwrites whose
 * rows come with IDs. All tables are already loaded. Only tables with retained IDs are searched.
 */
import type { Event, EventOf } from '../../src/language/events/event.ts';
import type { RowIdRuns } from '../../src/language/events/row-id-runs.ts';
import { formatRowId } from '../../src/language/events/row-id.ts';
import { inSlices } from '../../src/language/time-slices.ts';
import { rowIdsOfEvent, rowIdRunsOf, type PartWithIds } from '../segments/row-ids-of-event.ts';
import { checkRowIds } from './check-row-ids.ts';
import type { RetainedId } from './retained-ids.ts';
import { findRetainedIds } from './retained-ids.store.ts';
import { findExtents, findExtentsOfSegments, findIssuedIds, findRowsOfExtents } from './extents.store.ts';
import { rowsNamedBy, type LoadingTables, type WantedRow } from './load-tables.ts';
import type { Table, WantedPlace } from './table.ts';
import type { TableStates } from './tables.state.ts';

/** A row that an event names, in a table in which rows retain IDs. */
interface NamedRow {
  readonly row: WantedRow;
  readonly table: Table;
}

export async function loadRetainedIds(loading: LoadingTables): Promise<void> {
  const {
    events,
    states: { tables: state },
    before,
  } = loading;
  for (const retained of before?.tables.newRetainedIds ?? []) state.putRetainedId(retained);
  await loadIssuedIds(loading);
  // All other rows are at the places that their IDs name.
  const named: NamedRow[] = [];
  for (const row of rowsNamedBy(events)) {
    const table = state.table(row.tableId);
    if (table?.retainsIds && state.extentOf(row.tableId, row)?.generation !== table.generation)
      named.push({ row, table });
  }
  if (named.length > 0) await loadNamedRows(loading, named);
}

/**
 * Loads which IDs were issued by the issuers that the rows of overwrites name: by extents of any generation, or by
 * forgotten ones. The IDs of a large body or a stash can be many, so they are checked here, in time slices. Such an
 * event is the first of the events that are loaded together (`loadsMuch`), so no decision comes in between.
 */
async function loadIssuedIds(loading: LoadingTables): Promise<void> {
  const { events, states } = loading;
  for (const event of events) {
    const { data } = event;
    if (data.type !== 'TableOverwriteRequested') continue;
    const { tableId, rows } = data;
    const runs = await loadIssuers(loading, tableId, partsOf(states, event, data));
    if (rows.kind !== 'body' && rows.kind !== 'stash') continue;
    states.tables.putRowIdCheck(
      event,
      await inSlices(checkRowIds(runs, (issuer) => states.tables.issuedBy(tableId, issuer))),
    );
  }
}

/** How many issuers are looked up at first. If the table had all of them, ten times as many follow. */
const issuersAtFirst = 10_000;

/**
 * Loads the issuers of the IDs of these rows. Resolves to the runs of the IDs. Stops after the first issuers that the
 * table never had, because the first of their rows is refused.
 */
async function loadIssuers(
  { tx, states: { tables: state }, remembered }: LoadingTables,
  tableId: string,
  parts: readonly PartWithIds[],
): Promise<RowIdRuns | 'tooMany' | null> {
  for (let issuersMax = issuersAtFirst; ; issuersMax *= 10) {
    const runs = await inSlices(rowIdRunsOf(parts, issuersMax));
    if (runs === null || runs === 'tooMany') return runs;
    const missing = runs.issuers.filter((issuer) => {
      if (state.issuedBy(tableId, issuer) !== null) return false;
      const extent = remembered?.extentOf(tableId, issuer);
      if (extent) state.putExtent(extent);
      return !extent;
    });
    const found =
      missing.length === 0
        ? []
        : await findExtents(
            tx,
            missing.map((issuer) => ({ ...issuer, tableId })),
          );
    for (const extent of found) state.putExtent(extent);
    // After the extents, because garbage collection may forget their generation in the meantime.
    const others =
      found.length === missing.length ? [] : missing.filter((issuer) => state.extentOf(tableId, issuer) === null);
    const issued = others.length === 0 ? [] : await findIssuedIds(tx, tableId, others);
    for (const each of issued) state.putIssuedIds(each);
    if (issued.length < others.length || runs.isWhole) return runs;
  }
}

/** The parts of an overwrite's rows, with their IDs. */
function partsOf(
  { segments, stashes }: TableStates,
  event: Event,
  { teamId, rows }: EventOf<'TableOverwriteRequested'>,
): readonly PartWithIds[] {
  switch (rows.kind) {
    case 'none':
      return [];
    case 'few':
    case 'block':
      return [{ profile: rows.profile, ids: rowIdsOfEvent(event, rows)?.bytes ?? null }];
    case 'body':
      return segments.allBodyBlocks(rows.bodyId).toSorted((a, b) => a.number - b.number);
    case 'stash': {
      const stash = stashes.stash(teamId, rows.stashId);
      return stash === null || stash.endedAt !== null ? [] : stashes.content(stash.key).segments;
    }
  }
}

/** The rows with these IDs, wherever they are in present generations. */
async function loadNamedRows(loading: LoadingTables, named: readonly NamedRow[]): Promise<void> {
  const {
    tx,
    states: { tables: state },
    before,
  } = loading;
  const inFlight = before?.tables.newRetainingExtents() ?? [];
  const retained = await findRetainedIds(tx, {
    ids: [...new Set(named.map(({ row }) => formatRowId(row)))],
    tableIds: [...new Set(named.map(({ table }) => table.id))],
    segments: [...inFlight, ...state.newRetainingExtents()].map(({ segment }) => segment),
  });
  for (const each of retained) state.putRetainedId(each);
  await loadExtentsOf(loading, named, retained);

  const wanted: WantedPlace[] = [];
  for (const { row, table } of named) {
    const place = state.rowByRetainedId(table, formatRowId(row));
    if (place === null || state.findRow(place.extent.key, place.index) !== null) continue;
    const changed = before?.tables.findRow(place.extent.key, place.index);
    if (changed) state.putRow(changed);
    else wanted.push({ ...place, mayHaveChange: true });
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
