import type { Event, EventOf } from '../../src/events/event.ts';
import { apply, refusedWith } from '../decision.ts';
import type { Decision, DecisionState, LogPlace } from '../decision.ts';
import { arrivedRows, placeRows } from './place-rows.ts';
import { unchangedTable } from './rungs.ts';

/** Spec 4.12, decisions 3. Rungs: table, suspension, If-Match, cells, limits, plan. Adding no rows moves nothing. */
export function decideAddRows(state: DecisionState, event: Event<EventOf<'RowsAddRequested'>>, at: LogPlace): Decision {
  const { data } = event;
  const found = unchangedTable(state, data);
  if ('refused' in found) return found.refused;
  const { table, team } = found;

  const rows = arrivedRows(state, event, data.teamId, data.rows, at);
  if ('refusal' in rows) return refusedWith(rows.refusal);
  const { profile } = rows;
  if (profile.rows === 0 && profile.columns.length === 0) return apply([], table.version, { rows: [] });
  const placed = placeRows({
    state, at, team, table, schema: state.schema(table), givesSchema: false, keepsIds: false, rows,
    mode: data.onSchemaError, limits: data.limits,
  });
  if ('refusal' in placed) return refusedWith(placed.refusal);
  if (profile.rows === 0) return apply([], table.version, { rows: [] });
  return apply([{ kind: 'table', table: placed.table }, ...placed.changes], at.version, { rows: placed.ranges });
}
