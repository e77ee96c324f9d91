import type { Event, EventOf } from '../../src/language/events/event.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import type { RowIdRun } from '../../src/language/events/row-id-runs.ts';
import { formatRowId } from '../../src/language/events/row-id.ts';
import { atOnce } from '../../src/language/time-slices.ts';
import { checkGivenSchema } from '../../src/language/values/decide-schema.ts';
import { schemaOf } from '../../src/language/values/table-schema.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { runsMax, rowIdRunsOf } from '../segments/row-ids-of-event.ts';
import { endGeneration } from './end-generation.ts';
import type { ArrivedRows } from '../segments/arrived-rows.ts';
import { placeRows, rowsOfRequest } from './place-rows.ts';
import { checkRowIds } from './check-row-ids.ts';
import { checkGivenKey, columnIdsOf, declared, endKey } from './keys/table-key.ts';
import { unchangedTable } from './guards.ts';

/**
 * All versions are below this. A `$rowID` that is not a row ID is encoded as all ones
 * (src/language/events/row-bodies.ts).
 */
const noRowIdVersion = 2n ** 63n;

/**
 * Spec 4.12, decisions 3: replaces all rows of a table in one step. Guards: table, suspension, If-Match, stash, schema,
 * row IDs, cells, limits, plan. A row that comes with an ID that this table once issued retains it.
 */
export function decideOverwriteTable(
  states: TableStates,
  event: Event<EventOf<'TableOverwriteRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table, team } = found;

  const rows = rowsOfRequest(states, event, data.teamId, data.rows, at);
  if ('refusal' in rows) return refusedWith(rows.refusal);
  const { columns } = data;
  const misfit = columns === null ? null : checkGivenSchema(columns);
  if (misfit !== null) return refusedWith(misfit);
  const key =
    columns === null ? (table.keyColumns === null ? null : columnIdsOf(table.keyColumns)) : (data.key ?? null);
  const given = columns === null ? states.tables.schema(table) : schemaOf(columns, at.version);
  const noKey = key === null ? null : checkGivenKey(key, given, 'schema.key');
  if (noKey !== null) return refusedWith(noKey);
  const wrongId = refusedRowIds(states, table, event, rows);
  if (wrongId !== null) return refusedWith(wrongId);

  const emptied: Table = {
    ...table,
    generation: at.version,
    rows: 0,
    tail: null,
    retainsIds: false,
    ...declared(key, at.version),
  };
  const remaining = { ...team, rows: team.rows - table.rows };
  const placed = placeRows({
    states,
    event,
    at,
    team: remaining,
    table: emptied,
    schema: given,
    givesSchema: columns !== null,
    retainsIds: true,
    rows,
    mode: data.onSchemaError,
    limits: data.limits,
  });
  if ('refusal' in placed) return refusedWith(placed.refusal);
  const changes: TableChange[] = [
    { kind: 'table', table: placed.table },
    endGeneration(table, at),
    ...endKey(table),
    { kind: 'team', team: remaining },
    ...placed.changes,
  ];
  return apply(changes, at.version, { rows: placed.ranges, ...placed.dropped });
}

/**
 * Refuses the first row whose ID this table never issued, or whose ID an earlier row also has (docs/spec/decisions.md
 * 2).
 */
function refusedRowIds({ tables }: TableStates, { id }: Table, event: Event, rows: ArrivedRows): Refusal | null {
  const { segments, fewIds, profile, placeOf } = rows;
  const parts = fewIds === null ? segments : [{ profile, ids: fewIds.bytes }];
  const check =
    tables.rowIdCheck(event) ??
    atOnce(checkRowIds(atOnce(rowIdRunsOf(parts)), (issuer) => tables.issuedBy(id, issuer)));
  if (check === 'fit') return null;
  if (check === 'tooMany') {
    const message = `the rows have $rowIDs in more than ${runsMax} pieces that do not follow each other`;
    return { type: 'limit_exceeded', message };
  }
  return refusalOf(
    check.run,
    check.row,
    placeOf,
    check.isRepeated ? 'occurs twice' : 'is the ID of no row that this table ever had',
  );
}

function refusalOf(run: RowIdRun, row: number, placeOf: ArrivedRows['placeOf'], reason: string): Refusal {
  const place = `${placeOf({ row, position: 0 })}.$rowID`;
  const isId = run.version < noRowIdVersion;
  const id = isId ? JSON.stringify(formatRowId({ ...run, index: run.first + row - run.row })) : '';
  return {
    type: 'request_validation_error',
    message: isId ? `${place}: ${id} ${reason}` : `${place}: it is no row's ID`,
  };
}
