import type { Event, EventOf } from '../../src/language/events/event.ts';
import { displayColumns } from '../../src/language/values/display-columns.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { unchangedTable } from './guards.ts';

/**
 * Changes the name of a table and the display names of its columns. Guards: table, suspension, If-Match, columns. A
 * patch that changes no name changes no version. Column types stay, so rows read as before.
 */
export function decidePatchTable(
  states: TableStates,
  { data }: Event<EventOf<'TablePatchRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table } = found;
  const before = states.tables.schema(table);
  const displayed = displayColumns(before, data.columns);
  if ('refusal' in displayed) return refusedWith(displayed.refusal);

  // After this point it must succeed.
  const { schema } = displayed;
  const name = data.name ?? table.name;
  if (schema === before && name === table.name) return apply([], table.version);
  const schemaVersion = schema === before ? table.schemaVersion : at.version;
  const next: Table = { ...table, name, version: at.version, schemaVersion };
  const changes: TableChange[] = [{ kind: 'table', table: next }];
  if (schema !== before) changes.push({ kind: 'schema', tableId: table.id, version: at.version, schema });
  return apply(changes, at.version);
}
