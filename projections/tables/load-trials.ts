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
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import type { LoadingTables } from './load-tables.ts';
import { hasChangeAt } from './read/shown-rows.ts';
import { formInSql, presenterOfForm } from './read/stored-body.ts';
import { isShownAt, retainedIdAt, type TableAt } from './read/table-at.ts';
import type { Table } from './table.ts';

/**
 * How many rows are tried, how many bytes they may have, and among how many changes they are searched. These numbers
 * must not change: replay would decide differently.
 */
const rowsMax = 2000;
const bytesMax = 4 * 1024 * 1024;
const changesMax = 20_000;

/** Below all versions. */
const never = -1n;

/** The table is a parameter, because earlier events may have changed its schema in the same transaction. */
const tried: TableAt = { id: '$1', generation: '$2', widened: '$3::int8' };
const since = '$4::int8';
const isShown = isShownAt('extents', tried);

/**
 * How many rows the extents of a table have, including deleted ones, how many of these are in extents after a version,
 * and how many were changed; each up to a limit.
 */
const countRows: Statement<{ readonly rows: number; readonly added: number; readonly changes: number }> = {
  name: 'count_tried_rows',
  text: `select
      (select coalesce(sum(rows), 0)::float8 from (
        select rows from extents where ${isShown} and rows > 0 limit ${rowsMax + 1}
      ) few) as rows,
      (select coalesce(sum(rows), 0)::float8 from (
        select rows from extents where ${isShown} and rows > 0 and version > $3::int8 limit ${rowsMax + 1}
      ) few) as added,
      (select count(*)::float8 from (
        select from extents join changes on changes.extent = extents.key
        where ${isShown} and extents.changed limit ${changesMax + 1}
      ) few) as changes`,
};

/** A stored row. */
interface TriedRow {
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
  readonly body: string;
  readonly form: string | null;
  readonly retainedId: string | null;
}

/** The unchanged rows of an extent, in SQL. */
const unchangedRows = `select segment_rows.index - extents.first as index, segment_rows.body, segment_rows.version,
    null::int8 as change_version
  from segment_rows
  where segment_rows.segment = extents.segment
    and segment_rows.index >= extents.first and segment_rows.index < extents.first + extents.rows
    and not (extents.changed and ${hasChangeAt('extents', 'segment_rows.index - extents.first')})`;

/** The changed rows of an extent that are not deleted, in SQL. */
const changedRows = `select changes.index, changes.body, changes.version, changes.version as change_version
  from changes where changes.extent = extents.key and changes.body is not null`;

/** The rows of some extents, in SQL. Reads no other extents. */
function rowsOf(rows: string, condition: string): string {
  return `select extents.version, extents.ordinal, found.index, found.body,
      ${formInSql('extents', 'coalesce(found.change_version, extents.presented)', tried.widened)} as form,
      ${retainedIdAt('extents', 'extents.first + found.index')} as "retainedId"
    from extents cross join lateral (${rows}) found
    where ${isShown} and ${condition}`;
}

/**
 * The rows that were added or changed since a version, in order. Besides later extents, only the last extent before
 * that version can have got rows, if it was an open tail then.
 */
const selectRows: Statement<TriedRow> = {
  name: 'select_tried_rows',
  text: `with open_then as (
      select key from extents where ${isShown} and version <= ${since} order by version desc, ordinal desc limit 1
    )
    ${rowsOf(unchangedRows, `extents.version > ${since}`)}
    union all
    ${rowsOf(unchangedRows, `extents.key = (select key from open_then) and found.version > ${since}`)}
    union all
    ${rowsOf(changedRows, `extents.changed and found.version > ${since}`)}
    order by version, ordinal, index limit $5::int4`,
};

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
  const { rows: counts } = await tx.query(countRows, [id, generation, before?.version ?? never]);
  const { rows: rowCount, added, changes } = counts[0]!;
  // If the rows of that version fitted and the schema is still the same, only other rows must be tried.
  const areOthersFit = before !== null && before.misfits.length === 0 && schemaVersion <= before.version;
  const canSkip = areOthersFit && added <= rowsMax && changes <= changesMax;
  if (!canSkip && rowCount > rowsMax) return null;
  const from = canSkip ? before!.version : never;
  const most = Math.min(rowsMax, Math.floor(bytesMax / Math.max(rowBytesMax, 1)));
  const { rows } = await tx.query(selectRows, [id, generation, widened, from, most + 1]);
  return rows.length <= most ? rows : null;
}
