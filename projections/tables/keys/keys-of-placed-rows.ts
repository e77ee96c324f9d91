import type { Event } from '../../../src/language/events/event.ts';
import { formatRowId } from '../../../src/language/events/row-id.ts';
import type { Refusal } from '../../../src/language/values/refusal.ts';
import type { TableSchema } from '../../../src/language/values/table-schema.ts';
import type { LogPlace } from '../../../src/log/batch/decision.ts';
import type { ArrivedRows } from '../../segments/arrived-rows.ts';
import { rowIdsOfEvent } from '../../segments/row-ids-of-event.ts';
import type { PlacedRows, Table } from '../table.ts';
import type { TableStates } from '../tables.state.ts';
import type { KeyHolder, KeyRunsChange, KeysChange } from './key-changes.ts';
import { carriedRows, keysOfRows, takeKeys } from './keys-of-rows.ts';
import { keyOf } from './table-key.ts';

interface NewRowsRequest {
  readonly states: TableStates;
  readonly event: Event;
  readonly at: LogPlace;
  /** As it is after the request. */
  readonly table: Table;
  readonly schema: TableSchema;
  readonly rows: ArrivedRows;
  readonly retainsIds: boolean;
  /** The places of the new rows. */
  readonly extents: readonly PlacedRows[];
}

/** Takes the keys of the rows that a request adds to a table; changes nothing if the table has no key. */
export function keysOfNewRows(
  request: NewRowsRequest,
): { readonly changes: readonly (KeysChange | KeyRunsChange)[] } | { readonly refusal: Refusal } {
  const { states, event, at, table, schema, rows } = request;
  const key = keyOf(table, schema);
  if (key === null || rows.profile.rows === 0) return { changes: [] };
  const source = carriedRows(event);
  if (source === null) {
    const found = states.tables.keys.foundRuns(event);
    if ('refusal' in found) return found;
    const extents = request.extents.map(({ extent }) => extent.key);
    return { changes: [{ kind: 'keyRuns', tableId: table.id, since: key.since, runs: found.runs, extents }] };
  }
  const [placed] = request.extents as [PlacedRows];
  const ids = request.retainsIds ? (rowIdsOfEvent(event, source)?.texts ?? null) : null;
  const holderOf = (row: number): KeyHolder => {
    const { extent, first } = placed;
    const { version, ordinal } = extent;
    const index = first + row;
    return { extent: extent.key, index, rowId: ids?.[row] ?? formatRowId({ version, ordinal, index }) };
  };
  const taken = takeKeys(states.tables.keys, {
    key,
    isFirst: key.since === at.version,
    keys: keysOfRows(event, source, key, schema),
    placeOf: rows.placeOf,
    holderOf,
  });
  return 'refusal' in taken ? taken : { changes: [taken.change] };
}
