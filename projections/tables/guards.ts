/**
 * Guards of requests on tables (docs/spec/decisions.md 2): the table, its team's suspension, If-Match, and the room for
 * rows.
 */
import type { EventData, EventOf } from '../../src/language/events/event.ts';
import type { RowLimits, TableLimits } from '../../src/language/events/limits.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { checkGivenSchema, decideSchema } from '../../src/language/values/decide-schema.ts';
import type { Profile } from '../../src/language/values/profile.ts';
import { schemaOf, type TableSchema } from '../../src/language/values/table-schema.ts';
import { refusedWith, type Decision, type LogPlace } from '../../src/log/batch/decision.ts';
import { exceededQuota, suspension } from '../teams/guards.ts';
import type { Team } from '../teams/team.ts';
import type { Table } from './table.ts';
import type { TableStates } from './tables.state.ts';

/** The team's table; null if it has none with this ID. */
export function tableOfTeam(states: TableStates, teamId: string, tableId: string): Table | null {
  const table = states.tables.table(tableId);
  return table?.teamId === teamId ? table : null;
}

/** A client's request on a whole table. */
interface TableRequest {
  readonly teamId: string;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
}

type UsableTable = { readonly table: Table; readonly team: Team } | { readonly refused: Decision<never> };

/** The table, if the team has it and may use it, and if it has not changed since the client saw it. */
export function unchangedTable(
  states: TableStates,
  { teamId, tableId, ifMatch }: TableRequest,
  at: Pick<LogPlace, 'gaps'>,
): UsableTable {
  const table = tableOfTeam(states, teamId, tableId);
  const team = states.teams.team(teamId);
  if (table !== null && team === null) throw new Error(`table ${tableId} belongs to the unknown team ${teamId}`);
  const refusal = refusalOf(table && { version: table.version, suspended: team!.suspended }, ifMatch, at);
  return refusal === null ? { table: table!, team: team! } : { refused: refusedWith(refusal) };
}

/** The table, if the team has it and may use it. Another team's table counts as missing. */
export function usableTable(states: TableStates, teamId: string, tableId: string): UsableTable {
  return unchangedTable(states, { teamId, tableId, ifMatch: null }, { gaps: [] });
}

/** The input of the first guards: the version of the team's table, and whether the team is suspended. */
export interface GuardedTable {
  readonly version: bigint;
  readonly suspended: boolean;
}

/**
 * Why the first guards refuse a request on a whole table, whatever its rows are; null if they do not. `target` is null
 * if there is no such table.
 */
export function refusalOf(
  target: GuardedTable | null,
  ifMatch: bigint | null,
  at: Pick<LogPlace, 'gaps'>,
): Refusal | null {
  if (target === null) return { type: 'table_not_found', message: 'there is no such table' };
  return suspension(target) ?? changedSince('table', target.version, ifMatch, at);
}

/** Why a new table is refused, whatever its content is; null if it is not. */
export function refusalOfNew(
  team: Pick<Team, 'suspended' | 'tables' | 'tablesMax'>,
  { tablesMax }: TableLimits,
): Refusal | null {
  return suspension(team) ?? exceededQuota(team, 'tables', 1, tablesMax);
}

/** Whether the first guards certainly refuse a request, whatever its rows are. */
export function isRefusedWithoutRows(states: TableStates, data: EventData): boolean {
  if (data.type === 'TableCreateRequested') return states.teams.team(data.teamId)?.suspended ?? false;
  if (
    data.type !== 'RowsAddRequested' &&
    data.type !== 'TableOverwriteRequested' &&
    data.type !== 'TablePatchRequested'
  )
    return false;
  return 'refused' in unchangedTable(states, data, { gaps: [] });
}

/** Refuses rows that the table has no room for: `more` of them. */
export function fullTable(
  { rows }: Pick<Table, 'rows'>,
  more: number,
  { rowsPerTableMax }: Pick<RowLimits, 'rowsPerTableMax'>,
): Refusal | null {
  if (rows + more <= rowsPerTableMax) return null;
  return { type: 'limit_exceeded', message: `the table would hold more than ${rowsPerTableMax} rows` };
}

type RowsRequest = EventOf<
  'TableCreateRequested' | 'RowsAddRequested' | 'TableOverwriteRequested' | 'RowPatchRequested'
>;

/**
 * Why the schema of a request or the cells of its rows are refused; null if they are not. For requests whose rows never
 * reach the log. `schema` is the committed one; null: the table is new.
 */
export function refusalOfCells(
  request: RowsRequest | Pick<EventOf<'RowPatchRequested'>, 'type' | 'onSchemaError' | 'limits'>,
  schema: TableSchema | null,
  profile: Profile,
): Refusal | null {
  const given = 'columns' in request ? request.columns : null;
  const misfit = given && checkGivenSchema(given);
  if (misfit !== null) return misfit;
  const decided = decideSchema({
    schema: given === null ? schema : schemaOf(given, 0n),
    profile,
    mode: request.onSchemaError,
    version: 0n,
    columnsMax: request.limits.columnsMax,
    place: ({ row }, columnId) => (request.type === 'RowPatchRequested' ? columnId : `rows[${row}].${columnId}`),
  });
  return 'refusal' in decided ? decided.refusal : null;
}

export const missingRow: Refusal = { type: 'row_not_found', message: 'there is no such row' };

/**
 * Null if nothing has changed since the version that the client saw. Refuses a lost version, because nobody can know
 * what it contained.
 */
export function changedSince(
  what: string,
  version: bigint,
  ifMatch: bigint | null,
  { gaps }: Pick<LogPlace, 'gaps'>,
): Refusal | null {
  if (ifMatch === null) return null;
  if (gaps.some(({ from, to }) => ifMatch >= from && ifMatch < to)) {
    return {
      type: 'precondition_failed',
      message: `the version ${ifMatch} is lost: that of the ${what} is ${version}`,
    };
  }
  if (version <= ifMatch) return null;
  return {
    type: 'precondition_failed',
    message: `the ${what} has changed: its version is ${version}, not ${ifMatch} or older`,
  };
}
