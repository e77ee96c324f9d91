/**
 * SQL that selects the rows of a partition from the tables of the read model. Some rows belong to no partition: garbage
 * collection is about to remove them, for example an idle segment or a chunk that was sent again. No event needs such a
 * row, so a backup leaves it out. The search path must be the schema of the read model.
 */
import type { CopiedTable } from './stored-tables.ts';

/** A range of a table's first key column: from `from` to before `to`. */
export interface KeyRange {
  readonly from: bigint;
  readonly to: bigint;
}

const teamsOf = (partition: number): string => `select id from teams where partition = ${partition}`;
const tablesOf = (partition: number): string => `select id from tables where team_id in (${teamsOf(partition)})`;
const stashesOf = (partition: number): string => `select key from stashes where team_id in (${teamsOf(partition)})`;

/** Columns that determine the partition of a row. If a table has several, the first one counts. */
const owners: readonly (readonly [column: string, condition: (partition: number) => string])[] = [
  ['partition', (partition) => `partition = ${partition}`],
  ['team_id', (partition) => `team_id in (${teamsOf(partition)})`],
  ['table_id', (partition) => `table_id in (${tablesOf(partition)})`],
  ['stash', (partition) => `stash in (${stashesOf(partition)})`],
];

const within = (column: string, range: KeyRange | null): string =>
  range === null ? 'true' : `${column} >= ${range.from} and ${column} < ${range.to}`;

/** The keys of a partition's extents, and of its segments: rows of other tables belong to an extent or a segment. */
const extentsOf = (partition: number, range: KeyRange | null): string =>
  `select key from extents where table_id in (${tablesOf(partition)}) and ${within('key', range)}`;
const segmentsOf = (
  partition: number,
  range: KeyRange | null,
): string => `select segment as key from extents where table_id in (${tablesOf(partition)}) and ${within('segment', range)}
  union select segment from body_blocks where team_id in (${teamsOf(partition)}) and ${within('segment', range)}
  union select segment from chunk_blocks where stash in (${stashesOf(partition)}) and segment is not null and ${within('segment', range)}`;

/**
 * A query for the rows of a partition, in no order. `range` limits the first column of the table's key; null: all rows.
 */
export function rowsOfPartition(
  { name, columns, key }: Pick<CopiedTable, 'name' | 'columns' | 'key'>,
  partition: number,
  range: KeyRange | null,
): string {
  const list = columns.map((column) => `rows."${column}"`).join(', ');
  const owner = owners.find(([column]) => columns.includes(column));
  const first = key[0]!;
  if (owner !== undefined)
    return `select ${list} from "${name}" rows where ${owner[1](partition)} and ${within(`"${first}"`, range)}`;
  const keys = name === 'segments' || first === 'segment' ? segmentsOf : first === 'extent' ? extentsOf : null;
  if (keys === null) throw new Error(`no column determines the partition of the rows of ${name}`);
  // Select the keys first: they are far fewer than the rows, and each finds its rows by the table's index.
  return `with owned as materialized (${keys(partition, range)}) select ${list} from owned join "${name}" rows on rows."${first}" = owned.key`;
}

/**
 * A query for the values of the first column of the table's key in a partition, as the column `key`. Some values may
 * have no rows, or may be repeated.
 */
export function keysOfPartition(table: Pick<CopiedTable, 'name' | 'columns' | 'key'>, partition: number): string {
  const first = table.key[0]!;
  if (!owners.some(([column]) => table.columns.includes(column)))
    return first === 'extent' ? extentsOf(partition, null) : segmentsOf(partition, null);
  return `select "${first}" as key from (${rowsOfPartition(table, partition, null)}) rows`;
}

/**
 * A query for the approximate share of each partition in the bytes of the read model, as the columns `partition` and
 * `share` (0 to 1).
 */
export const sharesOfPartitions = `select teams.partition, sum(extents.bytes)::float8 / greatest(1,
sum(sum(extents.bytes)) over ())::float8 as share
  from extents join tables on tables.id = extents.table_id join teams on teams.id = tables.team_id
  group by teams.partition`;
