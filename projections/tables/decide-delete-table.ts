import type { EventOf } from '../../src/events/event.ts';
import { apply } from '../decision.ts';
import type { Decision, DecisionState, LogPlace } from '../decision.ts';
import { endGeneration } from './end-generation.ts';
import { tableOf, unchangedTable } from './rungs.ts';

/**
 * The end of a table. Rungs: table, suspension, If-Match. A table that is not there is no error: what was asked for is so.
 * What it had stays where it is for the sweeper: from here on nothing finds it.
 */
export function decideDeleteTable(state: DecisionState, data: EventOf<'TableDeleteRequested'>, at: LogPlace): Decision {
  if (tableOf(state, data.teamId, data.tableId) === null) return apply([]);
  const found = unchangedTable(state, data);
  if ('refused' in found) return found.refused;
  const { table, team } = found;
  return apply([
    { kind: 'table', table: { ...table, version: at.version, rows: 0, tail: null, deleted: true } },
    endGeneration(table, at),
    { kind: 'team', team: { ...team, rows: team.rows - table.rows } },
  ]);
}
