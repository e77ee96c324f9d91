/**
 * SQL: which rows of a table of the read model are of a partition. A row that is of none belongs to something that
 * garbage collection is about to remove, such as an idle segment or a chunk that was sent again: no event needs it, so
 * it is left out of a backup. The search path must be the schema of the read model.
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

/** Columns that say of which partition a row is; the first that a table has does. */
const owners: readonly (readonly [column: string, condition: (partition: number) => string])[] = [
  ['partition', (partition) => `partition = ${partition}`],
  ['team_id', (partition) => `team_id in (${teamsOf(partition)})`],
  ['table_id', (partition) => `table_id in (${tablesOf(partition)})`],
  ['stash', (partition) => `stash in (${stashesOf(partition)})`],
];

const within = (column: string, range: KeyRange | null): string =>
  range === null ? 'true' : `${column} >= ${range.from} and ${column} < ${range.to}`;

/** Extents and segments of a partition: the keys of the rows of tables whose rows belong to one. */
const extentsOf = (partition: number, range: KeyRange | null): string =>
  `select key from extents where table_id in (${tablesOf(partition)}) and ${within('key', range)}`;
const segmentsOf = (
  partition: number,
  range: KeyRange | null,
): string => `select segment as key from extents where table_id in (${tablesOf(partition)}) and ${within('segment', range)}
  union select segment from body_blocks where team_id in (${teamsOf(partition)}) and ${within('segment', range)}
  union select segment from chunk_blocks where stash in (${stashesOf(partition)}) and segment is not null and ${within('segment', range)}`;

/**
 * The rows of a partition, as a query without order. `range`: of the first column of the table's key; null: all of
 * them.
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
  if (keys === null) throw new Error(`nothing says of which partition the rows of ${name} are`);
  // The keys first: there are far fewer of them than rows, and each finds its rows by the table's key.
  return `with owned as materialized (${keys(partition, range)}) select ${list} from owned join "${name}" rows on rows."${first}" = owned.key`;
}

/**
 * The values of the first column of the table's key, of the rows of a partition, as the column `key`; possibly some
 * without rows, or repeated.
 */
export function keysOfPartition(table: Pick<CopiedTable, 'name' | 'columns' | 'key'>, partition: number): string {
  const first = table.key[0]!;
  if (!owners.some(([column]) => table.columns.includes(column)))
    return first === 'extent' ? extentsOf(partition, null) : segmentsOf(partition, null);
  return `select "${first}" as key from (${rowsOfPartition(table, partition, null)}) rows`;
}

/** Which share of the bytes of the read model is of each partition, about, as the columns `partition` and `share`. */
export const sharesOfPartitions = `select teams.partition, sum(extents.bytes)::float8 / greatest(1,
sum(sum(extents.bytes)) over ())::float8 as share
  from extents join tables on tables.id = extents.table_id join teams on teams.id = tables.team_id
  group by teams.partition`;
