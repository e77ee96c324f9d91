/**
 * Reads the rows of a table that have changed since a version, where an event stands in the log: others have read the
 * rows as of that version before. How much is read has a bound, because the partition waits.
 */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { hasChangeAt } from './read/shown-rows.ts';
import { formInSql } from './read/stored-body.ts';
import { isShownAt, retainedIdAt, type TableAt } from './read/table-at.ts';
import type { Table } from './table.ts';

/**
 * How many rows are read, how many bytes they may have, and among how many changes they are searched. These numbers
 * must not change: replay would decide differently.
 */
export const rowsMax = 2000;
const bytesMax = 4 * 1024 * 1024;
export const changesMax = 20_000;

/** Below all versions. */
export const never = -1n;

/** The maximum number of rows to read from a table whose longest row has `rowBytesMax` bytes. */
export function rowsReadAtMost(rowBytesMax: number): number {
  return Math.min(rowsMax, Math.floor(bytesMax / Math.max(rowBytesMax, 1)));
}

/** The table is a parameter, because earlier events may have changed its schema in the same transaction. */
const read: TableAt = { id: '$1', generation: '$2', widened: '$3::int8' };
const since = '$4::int8';
const isShown = isShownAt('extents', read);

/** Each number is counted up to its limit. */
interface RowCounts {
  /** How many rows the extents of the table have, including deleted ones. */
  readonly rows: number;
  /** How many of these are in extents after a version. */
  readonly added: number;
  /** How many rows were ever patched or deleted. */
  readonly changes: number;
}

const selectCounts: Statement<RowCounts> = {
  name: 'count_rows_since',
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

export async function countRowsSince(
  tx: Tx,
  { id, generation }: Pick<Table, 'id' | 'generation'>,
  version: bigint,
): Promise<RowCounts> {
  return (await tx.query(selectCounts, [id, generation, version])).rows[0]!;
}

/** A stored row. */
export interface RowSince {
  /** The local key of its extent. */
  readonly extent: bigint;
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
  /** Null: deleted. */
  readonly body: string | null;
  /** For `presenterOfForm`. */
  readonly form: string | null;
  readonly retainedId: string | null;
}

/** A stored row that exists. */
export type TriedRow = RowSince & { readonly body: string };

/** The unchanged rows of an extent, in SQL. */
const unchangedRows = `select segment_rows.index - extents.first as index, segment_rows.body, segment_rows.version,
    null::int8 as change_version
  from segment_rows
  where segment_rows.segment = extents.segment
    and segment_rows.index >= extents.first and segment_rows.index < extents.first + extents.rows
    and not (extents.changed and ${hasChangeAt('extents', 'segment_rows.index - extents.first')})`;

/** The changed rows of an extent, in SQL. */
const changedRows = `select changes.index, changes.body, changes.version, changes.version as change_version
  from changes where changes.extent = extents.key`;

/** The rows of some extents, in SQL. Reads no other extents. */
function rowsOf(rows: string, condition: string): string {
  return `select extents.key as extent, extents.version, extents.ordinal, found.index, found.body,
      ${formInSql('extents', 'coalesce(found.change_version, extents.presented)', read.widened)} as form,
      ${retainedIdAt('extents', 'extents.first + found.index')} as "retainedId"
    from extents cross join lateral (${rows}) found
    where ${isShown} and ${condition}`;
}

/**
 * The rows that were added or changed since a version, in order. Besides later extents, only the last extent before
 * that version can have got rows, if it was an open tail then.
 */
function selectRows(name: string, isWanted: string): Statement<RowSince> {
  return {
    name,
    text: `with open_then as (
      select key from extents where ${isShown} and version <= ${since} order by version desc, ordinal desc limit 1
    )
    ${rowsOf(unchangedRows, `extents.version > ${since}`)}
    union all
    ${rowsOf(unchangedRows, `extents.key = (select key from open_then) and found.version > ${since}`)}
    union all
    ${rowsOf(changedRows, `extents.changed and found.version > ${since} and ${isWanted}`)}
    order by version, ordinal, index limit $5::int4`,
  };
}

const selectExisting = selectRows('select_rows_since', 'found.body is not null');
const selectAll = selectRows('select_rows_and_deletions_since', 'true');

/** The first `limit` existing rows that were added or changed since a version, in the order of the table. */
export async function findRowsSince(
  tx: Tx,
  { id, generation, widened }: Pick<Table, 'id' | 'generation' | 'widened'>,
  version: bigint,
  limit: number,
): Promise<readonly TriedRow[]> {
  const { rows } = await tx.query(selectExisting, [id, generation, widened, version, limit]);
  return rows as readonly TriedRow[];
}

/** The same, with deleted rows. */
export async function findChangesSince(
  tx: Tx,
  { id, generation, widened }: Pick<Table, 'id' | 'generation' | 'widened'>,
  version: bigint,
  limit: number,
): Promise<readonly RowSince[]> {
  return (await tx.query(selectAll, [id, generation, widened, version, limit])).rows;
}
