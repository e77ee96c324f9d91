import type { Event, EventOf } from '../../src/language/events/event.ts';
import { formatRowId } from '../../src/language/events/row-id.ts';
import { decideSchema } from '../../src/language/values/decide-schema.ts';
import { applyPatch } from '../../src/language/values/presentation.ts';
import { parseRow } from '../../src/language/values/row-text.ts';
import { apply, refuse, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';
import { changedSince, missingRow, usableTable } from './guards.ts';
import { keysOfPatchedRow } from './keys/keys-of-changed-rows.ts';
import { fixedColumns, keyOf } from './keys/table-key.ts';
import { droppedCells } from './place-rows.ts';

/**
 * Spec 4.4. Guards: table, suspension, row, If-Match, cells, limits. A patch that changes no value changes no version.
 */
export function decidePatchRow(
  states: TableStates,
  event: Event<EventOf<'RowPatchRequested'>>,
  at: LogPlace,
): Decision<TableChange> {
  const { data } = event;
  const found = usableTable(states, data.teamId, data.tableId);
  if ('refused' in found) return found.refused;
  const { table } = found;
  const row = states.tables.row(table, data.row);
  if (row === null || row.body === null) return refusedWith(missingRow);
  const changed = changedSince('row', row.version, data.ifMatch, at);
  if (changed !== null) return refusedWith(changed);

  const before = states.tables.schema(table);
  const decided = decideSchema({
    schema: before,
    profile: data.profile,
    mode: data.onSchemaError,
    version: at.version,
    columnsMax: data.limits.columnsMax,
    fixed: fixedColumns(table),
    place: (_, columnId) => columnId,
  });
  if ('refusal' in decided) return refusedWith(decided.refusal);
  const { schema } = decided;

  const widened = decided.widened ? at.version : table.widened;
  const sent = event.body();
  const patch = parseRow(Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength).toString());
  const current = states.tables.presenters(schema, widened)(row.form)(row.body);
  const patched = applyPatch(current, patch, schema, data.onSchemaError === 'updateSchema', data.profile.rule);
  const bytes = Buffer.byteLength(patched.body);
  if (bytes > data.limits.rowBytesMax) {
    return refuse('limit_exceeded', `the row would have ${bytes} bytes, more than ${data.limits.rowBytesMax}`);
  }

  const keys = keysOfPatchedRow(states.tables.keys, keyOf(table, schema), row, {
    before: current,
    after: patched.body,
    rowId: formatRowId(data.row),
  });
  if ('refusal' in keys) return refusedWith(keys.refusal);

  // After this point it must succeed.
  const result = droppedCells(data.onSchemaError, data.profile, schema, false);
  if (!patched.changed && !decided.changed)
    return apply([], row.version > table.widened ? row.version : table.widened, result);
  const next: Table = {
    ...table,
    version: at.version,
    schemaVersion: decided.changed ? at.version : table.schemaVersion,
    widened,
    rowBytesMax: Math.max(table.rowBytesMax, bytes),
  };
  const changes: TableChange[] = [{ kind: 'table', table: next }];
  if (decided.changed) changes.push({ kind: 'schema', tableId: table.id, version: at.version, schema });
  if (patched.changed) {
    const extent = row.extent.changed ? row.extent : { ...row.extent, changed: true };
    if (!row.extent.changed) changes.push({ kind: 'extent', extent });
    changes.push({
      kind: 'row',
      teamId: table.teamId,
      extent,
      index: row.index,
      version: at.version,
      before: row.body,
      body: patched.body,
    });
    changes.push(...keys.changes);
  }
  const rowVersion = patched.changed ? at.version : row.version;
  return apply(changes, rowVersion > next.widened ? rowVersion : next.widened, result);
}
