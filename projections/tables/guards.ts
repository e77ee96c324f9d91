/** The first guards of every request on a table: the table, its team's suspension, If-Match (docs/spec/decisions.md 2). */
import type { EventData } from '../../src/events/event.ts';
import { refuse, type Decision, type LogPlace } from '../engine/decision.ts';
import { suspendedMessage } from '../teams/guards.ts';
import type { Team } from '../teams/team.ts';
import type { Table } from './table.ts';
import type { TableStates } from './tables.state.ts';

/** The team's table; null if it has none with this ID. */
export function tableOf(states: TableStates, teamId: string, tableId: string): Table | null {
  const table = states.tables.table(tableId);
  return table?.teamId === teamId ? table : null;
}

/** A client's request on a whole table. */
interface TableRequest {
  readonly teamId: string;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
}

/** The table, if the team has it and may use it, and it has not changed since the client saw it. */
export function unchangedTable(states: TableStates, { teamId, tableId, ifMatch }: TableRequest, at: LogPlace): ReturnType<typeof usableTable> {
  const found = usableTable(states, teamId, tableId);
  if ('refused' in found) return found;
  const refused = changedSince('table', found.table.version, ifMatch, at);
  return refused === null ? found : { refused };
}

/** The table, if the team has it and may use it. Another team's table counts as missing. */
export function usableTable(
  states: TableStates,
  teamId: string,
  tableId: string,
): { readonly table: Table; readonly team: Team } | { readonly refused: Decision<never> } {
  const table = tableOf(states, teamId, tableId);
  if (table === null) return { refused: refuse('table_not_found', 'there is no such table') };
  const team = states.teams.team(teamId);
  if (team === null) throw new Error(`table ${tableId} belongs to the unknown team ${teamId}`);
  if (team.suspended) return { refused: refuse('payment_required', suspendedMessage) };
  return { table, team };
}

/** Whether the first guards of a request certainly refuse it, whatever its rows are. */
export function isRefusedWithoutRows(states: TableStates, data: EventData): boolean {
  if (data.type === 'TableCreateRequested') return states.teams.team(data.teamId)?.suspended ?? false;
  if (data.type !== 'RowsAddRequested' && data.type !== 'TableOverwriteRequested') return false;
  const found = usableTable(states, data.teamId, data.tableId);
  return 'refused' in found || (data.ifMatch !== null && found.table.version > data.ifMatch);
}

/** Null if nothing has changed since the version that the client saw. A version that was lost is one that nobody knows. */
export function changedSince(what: string, version: bigint, ifMatch: bigint | null, { gaps }: LogPlace): Decision<never> | null {
  if (ifMatch === null) return null;
  if (gaps.some(({ from, to }) => ifMatch >= from && ifMatch < to)) {
    return refuse('precondition_failed', `the version ${ifMatch} is lost: that of the ${what} is ${version}`);
  }
  if (version <= ifMatch) return null;
  return refuse('precondition_failed', `the ${what} has changed: its version is ${version}, not ${ifMatch} or older`);
}
