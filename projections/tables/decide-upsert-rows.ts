import type { Event, EventOf } from '../../src/language/events/event.ts';
import { rangeOfRow, pushRange, type RowRange } from '../../src/language/events/outcome.ts';
import { formatRowId, parseRowId } from '../../src/language/events/row-id.ts';
import { decideSchema } from '../../src/language/values/decide-schema.ts';
import { apply, refuse, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import { exceededQuota } from '../teams/guards.ts';
import { fullTable, unchangedTable } from './guards.ts';
import type { KeysChange } from './keys/key-changes.ts';
import { carriedRows, keysOfRows } from './keys/keys-of-rows.ts';
import { fixedColumns, keyOf, type TableKey } from './keys/table-key.ts';
import { droppedCells, placeInTail, rowsOfRequest } from './place-rows.ts';
import type { Extent, PlacedRows, Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { patchReader, UpsertedRows, type MergedRow } from './upserted-rows.ts';

/**
 * How many bytes the merged rows of one upsert may have: a row counts each time that a row of the body is merged into
 * it, because all merging is done in one turn. Must not change, or replay would give other outcomes.
 */
const mergedBytesMax = 128 * 1024 * 1024;

/**
 * Upserts rows (docs/decisions/0079): a row whose key another row has patches that row; any other row is added. Guards:
 * table, suspension, If-Match, key, cells, length of rows, limits, plan. If nothing changes, neither does the version.
 */
export function decideUpsertRows(
  states: TableStates,
  event: Event<EventOf<'RowsAddRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table, team } = found;
  const before = states.tables.schema(table);
  const key = keyOf(table, before);
  if (key === null)
    return refuse('request_validation_error', 'the table has no key by which rows could be found: declare one first');
  if (data.rows.kind !== 'few' && data.rows.kind !== 'none')
    return refuse('limit_exceeded', 'mode=upsert takes only rows that are in the request');
  const rows = rowsOfRequest(states, event, data.teamId, data.rows, at);
  if ('refusal' in rows) return refusedWith(rows.refusal);
  const { profile, few, placeOf } = rows;
  const decided = decideSchema({
    schema: before,
    profile,
    mode: data.onSchemaError,
    version: at.version,
    columnsMax: data.limits.columnsMax,
    fixed: fixedColumns(table),
    place: (place, columnId) => `${placeOf(place)}.${columnId}`,
  });
  if ('refusal' in decided) return refusedWith(decided.refusal);

  const { schema } = decided;
  const widened = decided.widened ? at.version : table.widened;
  const wrap = data.onSchemaError === 'updateSchema';
  const upserted = new UpsertedRows(states.tables, { key, schema, widened, wrap, rule: profile.rule });
  const readPatch = patchReader(profile, schema, wrap);
  const source = carriedRows(event);
  const keys = source === null ? [] : keysOfRows(event, source, key, before);
  let [rowBytesMax, mergedBytes] = [table.rowBytesMax, 0];
  for (const [row, body] of few.entries()) {
    const bytes = Buffer.byteLength(upserted.add(keys[row]!, readPatch(body)).body);
    if (bytes > data.limits.rowBytesMax) {
      const place = placeOf({ row, position: 0 });
      return refuse(
        'limit_exceeded',
        `${place}: the row would have ${bytes} bytes, more than ${data.limits.rowBytesMax}`,
      );
    }
    rowBytesMax = Math.max(rowBytesMax, bytes);
    mergedBytes += bytes;
    if (mergedBytes > mergedBytesMax)
      return refuse(
        'limit_exceeded',
        `rows: merged, they have more than ${mergedBytesMax} bytes; upsert fewer at once`,
      );
  }
  const { added, patched } = upserted;
  const tooMany = fullTable(table, added.length, data.limits) ?? exceededQuota(team, 'rows', added.length);
  if (tooMany !== null) return refusedWith(tooMany);

  // After this point it must succeed.
  const next: Table = {
    ...table,
    version: at.version,
    schemaVersion: decided.changed ? at.version : table.schemaVersion,
    widened,
    rows: table.rows + added.length,
    rowBytesMax,
  };
  const bodies = added.map(({ merged }) => merged.body);
  const placed = bodies.length === 0 ? null : placeInTail(states.tables, next, { bodies, ids: null }, at);
  const tail = placed?.extents[0] ?? null;
  const result = {
    rows: rangesOf(upserted.rows, tail),
    operations: upserted.counts,
    ...droppedCells(data.onSchemaError, profile, schema, wrap),
  };
  if (placed === null && patched.length === 0 && !decided.changed) return apply([], table.version, result);
  return apply(
    [
      { kind: 'table', table: placed?.table ?? next },
      ...(decided.changed ? [{ kind: 'schema', tableId: table.id, version: at.version, schema } as const] : []),
      ...(placed?.changes ?? []),
      ...changesOfPatched(states, table, patched, tail, at),
      ...(tail === null ? [] : keysOfAdded(key, added, tail)),
      ...(tail === null ? [] : [{ kind: 'team', team: { ...team, rows: team.rows + added.length } } as const]),
    ],
    at.version,
    result,
  );
}

/** The rows of the table that the rows of the request became, in order. */
function rangesOf(rows: readonly MergedRow[], tail: PlacedRows | null): readonly RowRange[] {
  const ranges: RowRange[] = [];
  for (const { stored, place } of rows) {
    const row =
      stored === null
        ? { version: tail!.extent.version, ordinal: tail!.extent.ordinal, index: tail!.first + place }
        : parseRowId(stored.rowId)!;
    pushRange(ranges, rangeOfRow(row));
  }
  return ranges;
}

/** `tail`: where the rows are that were added; its extent may have patched rows, too. */
function changesOfPatched(
  { tables }: TableStates,
  { teamId }: Table,
  patched: readonly MergedRow[],
  tail: PlacedRows | null,
  { version }: LogPlace,
): readonly TableChange[] {
  const changes: TableChange[] = [];
  const extents = new Map<bigint, Extent>();
  for (const { stored, body } of patched) {
    const { extent: known, index, body: before } = stored!.row;
    let extent = extents.get(known.key);
    if (extent === undefined) {
      const latest = tail?.extent.key === known.key ? tail.extent : tables.extent(known.key);
      extent = latest.changed ? latest : { ...latest, changed: true };
      extents.set(known.key, extent);
      if (extent !== latest) changes.push({ kind: 'extent', extent });
    }
    changes.push({ kind: 'row', teamId, extent, index, version, before: before!, body });
  }
  return changes;
}

/** The new rows take their keys, which no row had. */
function keysOfAdded({ tableId, since }: TableKey, added: UpsertedRows['added'], tail: PlacedRows): KeysChange[] {
  const { key: extent, version, ordinal } = tail.extent;
  const taken = added.flatMap(({ key }, place) => {
    const index = tail.first + place;
    return key === null
      ? []
      : [[key.text, { extent, index, rowId: formatRowId({ version, ordinal, index }) }] as const];
  });
  return taken.length === 0 ? [] : [{ kind: 'keys', tableId, since, freed: [], taken }];
}
