import type { Event, EventOf } from '../../src/language/events/event.ts';
import { displayColumns } from '../../src/language/values/display-columns.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { unchangedTable } from './guards.ts';
import { checkGivenKey, declared, endKey } from './keys/table-key.ts';

/**
 * Changes the name of a table, the display names of its columns, and its key. Guards: table, suspension, If-Match,
 * columns, key. A patch that changes nothing changes no version. Column types stay, so rows read as before.
 */
export function decidePatchTable(
  states: TableStates,
  event: Event<EventOf<'TablePatchRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table } = found;
  const before = states.tables.schema(table);
  const displayed = displayColumns(before, data.columns);
  if ('refusal' in displayed) return refusedWith(displayed.refusal);

  const { schema } = displayed;
  const { key } = data;
  const noKey = key ? checkGivenKey(key, schema, 'key') : null;
  if (noKey !== null) return refusedWith(noKey);
  const changesKey = key !== undefined && (key === null ? null : JSON.stringify(key)) !== table.keyColumns;
  // The rows of the table take their keys.
  const runs = changesKey && key !== null && table.rows > 0 ? states.tables.keys.foundRuns(event) : null;
  if (runs !== null && 'refusal' in runs) return refusedWith(runs.refusal);

  // After this point it must succeed.
  const name = data.name ?? table.name;
  if (schema === before && name === table.name && !changesKey) return apply([], table.version);
  const schemaVersion = schema === before ? table.schemaVersion : at.version;
  const declaration = changesKey ? declared(key, at.version) : {};
  const next: Table = { ...table, name, version: at.version, schemaVersion, ...declaration };
  const changes: TableChange[] = [{ kind: 'table', table: next }, ...(changesKey ? endKey(table) : [])];
  if (runs !== null) changes.push({ kind: 'keyRuns', tableId: table.id, since: at.version, ...runs });
  if (schema !== before) changes.push({ kind: 'schema', tableId: table.id, version: at.version, schema });
  return apply(changes, at.version);
}
