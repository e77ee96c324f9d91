import type { Event, EventOf } from '../../src/language/events/event.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { changedSince, usableTable } from './guards.ts';
import { keysOfDeletedRow } from './keys/keys-of-changed-rows.ts';

/** Spec 4.5. Guards: table, suspension, row, If-Match. Deleting a missing row succeeds, whatever If-Match says. */
export function decideDeleteRow(
  states: TableStates,
  event: Event<EventOf<'RowDeleteRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  const found = usableTable(states, data.teamId, data.tableId);
  if ('refused' in found) return found.refused;
  const { table, team } = found;
  const row = states.tables.row(table, data.row);
  if (row === null || row.body === null) return apply([], table.version);
  const changed = changedSince('row', row.version, data.ifMatch, at);
  if (changed !== null) return refusedWith(changed);

  const extent = { ...row.extent, changed: true, deleted: row.extent.deleted + 1 };
  return apply(
    [
      { kind: 'table', table: { ...table, version: at.version, rows: table.rows - 1 } },
      { kind: 'team', team: { ...team, rows: team.rows - 1 } },
      { kind: 'extent', extent },
      {
        kind: 'row',
        teamId: table.teamId,
        extent,
        index: row.index,
        version: at.version,
        before: row.body,
        body: null,
      },
      ...keysOfDeletedRow(states.tables, table, row),
    ],
    at.version,
  );
}
