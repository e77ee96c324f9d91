import type { Event, EventOf } from '../../src/language/events/event.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { droppedCells, placeRows, rowsOfRequest } from './place-rows.ts';
import { decideUpsertRows } from './decide-upsert-rows.ts';
import { unchangedTable } from './guards.ts';

/**
 * Spec 4.12, decisions 3. Guards: table, suspension, If-Match, cells, limits, plan. Adding no rows changes no version.
 */
export function decideAddRows(
  states: TableStates,
  event: Event<EventOf<'RowsAddRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  if (data.mode === 'upsert') return decideUpsertRows(states, event, at);
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table, team } = found;

  const rows = rowsOfRequest(states, event, data.teamId, data.rows, at);
  if ('refusal' in rows) return refusedWith(rows.refusal);
  const { profile } = rows;
  const schema = states.tables.schema(table);
  if (profile.rows === 0 && profile.columns.length === 0) {
    return apply([], table.version, { rows: [], ...droppedCells(data.onSchemaError, profile, schema, false) });
  }
  const placed = placeRows({
    states,
    event,
    at,
    team,
    table,
    schema,
    givesSchema: false,
    retainsIds: false,
    rows,
    mode: data.onSchemaError,
    limits: data.limits,
  });
  if ('refusal' in placed) return refusedWith(placed.refusal);
  if (profile.rows === 0) return apply([], table.version, { rows: [], ...placed.dropped });
  return apply([{ kind: 'table', table: placed.table }, ...placed.changes], at.version, {
    rows: placed.ranges,
    ...placed.dropped,
  });
}
