import type { Event, EventOf } from '../../src/language/events/event.ts';
import { apply } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { endGeneration } from './end-generation.ts';
import { tableOfTeam, unchangedTable } from './guards.ts';
import { endKey } from './keys/table-key.ts';

/**
 * Deletes a table. Guards: table, suspension, If-Match. Deleting a missing table succeeds. Its rows become unreachable;
 * garbage collection removes them.
 */
export function decideDeleteTable(
  states: TableStates,
  { data }: Event<EventOf<'TableDeleteRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  if (tableOfTeam(states, data.teamId, data.tableId) === null) return apply([]);
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table, team } = found;
  return apply([
    { kind: 'table', table: { ...table, version: at.version, rows: 0, tail: null, deleted: true } },
    endGeneration(table, at),
    ...endKey(table),
    { kind: 'team', team: { ...team, rows: team.rows - table.rows, tables: team.tables - 1 } },
  ]);
}
