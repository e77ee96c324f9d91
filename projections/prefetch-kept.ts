/**
 * What decisions need of kept identities: for rows that are named by an ID that they kept, and for overwrites whose rows
 * come with IDs. Fetched when tables are known already, and only for those where an overwrite kept any.
 */
import type { PipelinedClient } from '../src/database/pipelined-client.ts';
import type { RowAddress } from '../src/events/event.ts';
import type { RowIdRun, RowIdRuns } from '../src/events/row-id-runs.ts';
import { formatRowId } from '../src/events/row-id.ts';
import type { BatchMemory } from './batch-memory.ts';
import type { BatchState } from './batch-state.ts';
import type { Link, Table } from './decision.ts';
import type { KeptId } from './kept-ids.ts';
import { findKeptIds } from './segments/kept-ids.store.ts';
import { findLinks, findLinksOfSegments, findRowsOfLinks } from './tables/links.store.ts';

type Tx = Pick<PipelinedClient, 'query'>;

export interface WantedRow extends RowAddress {
  readonly tableId: string;
}

/** The IDs that rows of an overwrite came with. */
export interface WantedIds {
  readonly tableId: string;
  readonly runs: RowIdRuns;
}

/** To be called when `state` has the tables, and what can be found of the rows by their IDs alone. */
export async function prefetchKept(
  tx: Tx,
  rows: readonly WantedRow[],
  ids: readonly WantedIds[],
  state: BatchState,
  memory: BatchMemory | null,
): Promise<void> {
  for (const kept of memory?.last?.newKeptIds() ?? []) state.putKeptId(kept);
  await fetchIssuingLinks(tx, ids, state, memory);
  const named = rows.flatMap((row) => {
    const table = state.table(row.tableId);
    return table?.keeps ? [{ row, table, link: state.linkOf(row.tableId, row) }] : [];
  });
  // The others are at the places that their IDs name.
  await fetchKeptRows(tx, named.filter(({ table, link }) => link?.generation !== table.generation), state, memory);
}

/** The links that issued these IDs, of any generation. */
async function fetchIssuingLinks(
  tx: Tx,
  wanted: readonly WantedIds[],
  state: BatchState,
  memory: BatchMemory | null,
): Promise<void> {
  const missing = new Map<string, Pick<RowIdRun, 'version' | 'ordinal'> & { tableId: string }>();
  for (const { tableId, runs } of wanted) {
    for (const { version, ordinal } of runs) {
      const key = `${tableId} ${version} ${ordinal}`;
      if (missing.has(key) || state.linkOf(tableId, { version, ordinal }) !== null) continue;
      const link = memory?.linkOf(tableId, { version, ordinal });
      if (link) state.putLink(link);
      else missing.set(key, { tableId, version, ordinal });
    }
  }
  if (missing.size === 0) return;
  for (const link of await findLinks(tx, [...missing.values()])) state.putLink(link);
}

/** The rows with these IDs, wherever the present generations have them. */
async function fetchKeptRows(
  tx: Tx,
  named: readonly { readonly row: WantedRow; readonly table: Table }[],
  state: BatchState,
  memory: BatchMemory | null,
): Promise<void> {
  if (named.length === 0) return;
  const inFlight = memory?.last?.newKeepingLinks() ?? [];
  const kept = await findKeptIds(tx, {
    ids: [...new Set(named.map(({ row }) => formatRowId(row)))],
    tableIds: [...new Set(named.map(({ table }) => table.id))],
    segments: [...inFlight, ...state.newKeepingLinks()].map(({ segment }) => segment),
  });
  for (const each of kept) state.putKeptId(each);
  await fetchLinksOf(tx, named, kept, state, memory);

  const wanted: { link: Link; index: number }[] = [];
  for (const { row, table } of named) {
    const place = state.keptRow(table, formatRowId(row));
    if (place === null || state.findRow(place.link.key, place.index) !== null) continue;
    const changed = memory?.last?.findRow(place.link.key, place.index);
    if (changed) state.putRow(changed);
    else wanted.push(place);
  }
  if (wanted.length === 0) return;
  for (const row of await findRowsOfLinks(tx, wanted)) state.putRow(row);
}

/** The links by which the present generations of these tables show the segments that hold the IDs. */
async function fetchLinksOf(
  tx: Tx,
  named: readonly { readonly table: Table }[],
  kept: readonly KeptId[],
  state: BatchState,
  memory: BatchMemory | null,
): Promise<void> {
  for (const link of memory?.last?.newKeepingLinks() ?? []) {
    if (state.findLink(link.key) === null) state.putLink(link);
  }
  const segments = [...new Set(kept.map(({ segment }) => segment))];
  if (segments.length === 0) return;
  const tables = [...new Map(named.map(({ table }) => [table.id, table])).values()];
  for (const link of await findLinksOfSegments(tx, segments, tables)) {
    if (state.findLink(link.key) === null) state.putLink(memory?.link(link.key) ?? link);
  }
}
