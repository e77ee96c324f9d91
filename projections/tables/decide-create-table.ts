import type { Event, EventOf } from '../../src/language/events/event.ts';
import { checkGivenSchema } from '../../src/language/values/decide-schema.ts';
import { schemaOf } from '../../src/language/values/table-schema.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { isForgotten } from '../stashes/live-stash.ts';
import { checkGivenKey, declared } from './keys/table-key.ts';
import { placeRows, rowsOfRequest } from './place-rows.ts';
import { exceededQuota, suspension } from '../teams/guards.ts';

/** Spec 4.2. Guards: suspension, schema, cells, limits, plan, number of tables (docs/spec/decisions.md 2). */
export function decideCreateTable(
  states: TableStates,
  event: Event<EventOf<'TableCreateRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  const team = states.teams.team(data.teamId);
  if (team === null) throw new Error(`a table of the unknown team ${data.teamId}`);
  const suspended = suspension(team);
  if (suspended !== null) return refusedWith(suspended);

  const { columns } = data;
  // If the request has a schema, an unknown stash counts as no rows (docs/spec/decisions.md 3).
  const isEmpty =
    columns !== null &&
    data.rows.kind === 'stash' &&
    isForgotten(states.stashes.stash(data.teamId, data.rows.stashId), at);
  const rows = rowsOfRequest(states, event, data.teamId, isEmpty ? { kind: 'none' } : data.rows, at);
  if ('refusal' in rows) return refusedWith(rows.refusal);
  const misfit = columns === null ? null : checkGivenSchema(columns);
  if (misfit !== null) return refusedWith(misfit);

  const schema = columns === null ? null : schemaOf(columns, at.version);
  const key = data.key ?? null;
  const noKey = key === null ? null : checkGivenKey(key, schema ?? { columns: [] }, 'schema.key');
  if (noKey !== null) return refusedWith(noKey);

  const created: Table = {
    id: data.tableId,
    teamId: data.teamId,
    name: data.name,
    created: at.version,
    createdAt: at.time,
    version: at.version,
    generation: at.version,
    schemaVersion: at.version,
    widened: 0n,
    rows: 0,
    rowBytesMax: 0,
    tail: null,
    deleted: false,
    retainsIds: false,
    ...declared(key, at.version),
  };
  const placed = placeRows({
    states,
    event,
    at,
    team,
    table: created,
    schema,
    givesSchema: schema !== null,
    retainsIds: false,
    rows,
    mode: data.onSchemaError,
    limits: data.limits,
  });
  if ('refusal' in placed) return refusedWith(placed.refusal);
  const tooMany = exceededQuota(team, 'tables', 1, data.limits.tablesMax);
  if (tooMany !== null) return refusedWith(tooMany);

  const linkedAppIds = data.appsToLink === null ? null : [...new Set(data.appsToLink)];
  return apply(
    [
      // A new table has no rows stored under an older schema, even if its rows widened the given schema.
      { kind: 'table', table: { ...placed.table, widened: 0n } },
      ...(linkedAppIds === null ? [] : [{ kind: 'appLinks', tableId: data.tableId, appIds: linkedAppIds } as const]),
      ...placed.changes,
      { kind: 'usage', teamId: team.id, quota: 'tables', by: 1 },
    ],
    at.version,
    {
      tableId: data.tableId,
      rows: placed.ranges,
      ...placed.dropped,
      ...(linkedAppIds === null || linkedAppIds.length === 0 ? {} : { linkedAppIds }),
    },
  );
}
