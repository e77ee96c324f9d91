/**
 * Tries rows under new types of their columns, in the state that all earlier events left (docs/decisions/0077): all
 * rows of a small table, or the rows of a large one that have changed since the others were tried. The rows are stored
 * (`Model.readsStored`), but the schema may be newer than the stored one.
 */
import type { EventData } from '../../src/language/events/event.ts';
import { formatRowId } from '../../src/language/events/row-id.ts';
import type { RequestedColumnChanges } from '../../src/language/events/table-events.ts';
import { TimeSlices } from '../../src/language/time-slices.ts';
import { changeColumns } from '../../src/language/values/change-columns.ts';
import { MisfitSearch } from '../../src/language/values/column-misfits.ts';
import { presentersOf } from '../../src/language/values/presentation.ts';
import type { Tx } from '../../src/storage/database/pipelined-client.ts';
import type { LoadingTables } from './load-tables.ts';
import { presenterOfForm } from './read/stored-body.ts';
import {
  changesMax,
  countRowsSince,
  findRowsSince,
  never,
  rowsMax,
  rowsReadAtMost,
  type TriedRow,
} from './rows-since.ts';
import type { Table } from './table.ts';

/** Whether an event may need rows to be tried. */
export function triesRows(data: EventData): boolean {
  return (
    data.type === 'TablePatchRequested' && (data.columnChanges?.change.some(({ type }) => type !== undefined) ?? false)
  );
}

/** Tries the rows for these events, unless there are too many. */
export async function loadTrials({ tx, events, states: { tables: state } }: LoadingTables): Promise<void> {
  for (const event of events) {
    const { data } = event;
    if (data.type !== 'TablePatchRequested' || data.columnChanges === undefined || !triesRows(data)) continue;
    const table = state.table(data.tableId);
    if (table === null || table.teamId !== data.teamId) continue;
    const schema = state.schema(table);
    // The version matters only for the new schema, which is not needed here.
    const changed = changeColumns(schema, data.columnChanges, table.version, data.columnChanges.columnsMax);
    if ('refusal' in changed || changed.unsafe.length === 0) continue;
    const rows = await rowsToTry(tx, table, data.columnChanges);
    if (rows === null) continue;
    const search = new MisfitSearch(schema, changed.unsafe);
    const presenterFor = presentersOf(schema, table.widened);
    const slices = new TimeSlices();
    for (const { form, body, retainedId, ...place } of rows) {
      search.add(retainedId ?? formatRowId(place), presenterOfForm(form, presenterFor)(body));
      if (slices.isOver) await slices.next();
    }
    state.putTrial(event, search.found);
  }
}

/** The rows that still must be tried; null if there are too many, or none is missing. */
async function rowsToTry(
  tx: Tx,
  { id, generation, version, schemaVersion, widened, rowBytesMax }: Table,
  { tried: before }: RequestedColumnChanges,
): Promise<readonly TriedRow[] | null> {
  if (before?.version === version) return null;
  const { rows: rowCount, added, changes } = await countRowsSince(tx, { id, generation }, before?.version ?? never);
  // If the rows of that version fitted and the schema is still the same, only other rows must be tried.
  const areOthersFit = before !== null && before.misfits.length === 0 && schemaVersion <= before.version;
  const canSkip = areOthersFit && added <= rowsMax && changes <= changesMax;
  if (!canSkip && rowCount > rowsMax) return null;
  const from = canSkip ? before!.version : never;
  const most = rowsReadAtMost(rowBytesMax);
  const rows = await findRowsSince(tx, { id, generation, widened }, from, most + 1);
  return rows.length <= most ? rows : null;
}
