/**
 * Tries the rows of small tables under other types of their columns, as all earlier events left them
 * (docs/decisions/0077). The rows are stored (`Model.readsStored`), but the schema may be newer than the stored one.
 */
import type { EventData } from '../../src/language/events/event.ts';
import { TimeSlices } from '../../src/language/time-slices.ts';
import { changeColumns } from '../../src/language/values/change-columns.ts';
import { MisfitSearch } from '../../src/language/values/column-misfits.ts';
import { presentersOf } from '../../src/language/values/presentation.ts';
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { copiedRowsOf, type RowsOfExtent } from './copied-rows.ts';
import type { LoadingTables } from './load-tables.ts';
import { rowsBetween } from './read/shown-rows.ts';
import { isShownAt, type TableAt } from './read/table-at.ts';
import type { Table } from './table.ts';

/**
 * How many rows are tried, deleted ones included, and how many bytes they may have. These numbers must not change:
 * replay would decide differently.
 */
const rowsMax = 2000;
const bytesMax = 4 * 1024 * 1024;

/** The table is a parameter, because events before this one may have changed its schema in the same transaction. */
const tried: TableAt = { id: '$1', generation: '$2', widened: '$3::int8' };

/** How many rows the extents of a table have, if they are few. Each extent has one at least. */
const countRows: Statement<{ readonly rows: number }> = {
  name: 'count_tried_rows',
  text: `select coalesce(sum(rows), 0)::float8 as rows from (
      select rows from extents where ${isShownAt('extents', tried)} and rows > 0 limit ${rowsMax + 1}
    ) extents`,
};

const selectRows: Statement<RowsOfExtent> = {
  name: 'select_tried_rows',
  text: `select extents.version, extents.ordinal, found.* from extents
    cross join lateral (
      ${rowsBetween('extents', ['0', 'extents.rows'], tried, { limit: 'all', versions: false })}
    ) found
    where ${isShownAt('extents', tried)} and found.count > 0 order by extents.version, extents.ordinal`,
};

/** Whether rows may have to be tried for an event. */
export function triesRows(data: EventData): boolean {
  return (
    data.type === 'TablePatchRequested' && (data.columnChanges?.change.some(({ type }) => type !== undefined) ?? false)
  );
}

/** Tries the rows for these events, unless the table has too many. */
export async function loadTrials({ tx, events, states: { tables: state } }: LoadingTables): Promise<void> {
  for (const event of events) {
    const { data } = event;
    if (data.type !== 'TablePatchRequested' || data.columnChanges === undefined || !triesRows(data)) continue;
    const table = state.table(data.tableId);
    if (table === null || table.teamId !== data.teamId) continue;
    const schema = state.schema(table);
    // The version counts only in the new schema, which is not needed here.
    const changed = changeColumns(schema, data.columnChanges, table.version, data.columnChanges.columnsMax);
    if ('refusal' in changed || changed.unsafe.length === 0 || !(await isSmall(tx, table))) continue;
    const search = new MisfitSearch(schema, changed.unsafe);
    const presenterFor = presentersOf(schema, table.widened);
    const slices = new TimeSlices();
    for (const part of (await tx.query(selectRows, [table.id, table.generation, table.widened])).rows) {
      for (const { rowId, body } of copiedRowsOf(part, presenterFor)) {
        search.add(rowId, body);
        if (slices.isOver) await slices.next();
      }
    }
    state.putTrial(event, search.found);
  }
}

async function isSmall(tx: Tx, { id, generation, rowBytesMax }: Table): Promise<boolean> {
  const { rows } = await tx.query(countRows, [id, generation]);
  const count = rows[0]!.rows;
  return count <= rowsMax && count * rowBytesMax <= bytesMax;
}
