/**
 * A table at a version, in SQL: it determines which extents the table shows, and how their rows read. Most reads see
 * the table as it is now. A continuation sees it as it was when its generation ended.
 */
export interface TableAt {
  /** Names of columns, or parameters: the table's ID, and the generation whose extents it shows. */
  readonly id: string;
  readonly generation: string;
  /** The version of the last change of the schema before that version after which older bodies read differently. */
  readonly widened: string;
}

type ShownBy = Pick<TableAt, 'id' | 'generation'>;

/** A table whose columns are in a row, such as one of `tables`. */
export function tableAt(row: string): TableAt {
  return { id: `${row}.id`, generation: `${row}.generation`, widened: `${row}.widened` };
}

/** A table as it is now. */
export const latest = tableAt('tables');

/**
 * Joins to `tables` the columns that a table had at the end of a generation. If `asked` is null or that generation has
 * not ended, these are its present columns. They are null once readers can no longer reach the generation.
 */
export function atGeneration(asked: string): { readonly join: string; readonly columns: string } {
  return {
    join: `cross join lateral (select ${asked}::int8 is null or ${asked} = tables.generation as current) as asked
      left join generations ended on not current and ended.table_id = tables.id and ended.version = ${asked}
        and not ended.expired`,
    columns: `tables.id, coalesce(${asked}, tables.generation) as generation,
        case when current then tables.widened else ended.widened end as widened,
        case when current then tables.schema_version else ended.schema_version end as schema_version`,
  };
}

/** Whether a table shows an extent. */
export function isShownAt(extent: string, { id, generation }: ShownBy): string {
  return `${extent}.table_id = ${id} and ${extent}.generation = ${generation}`;
}

/** Whether the table of an extent shows it now. */
export const isShownNow = `${isShownAt('extents', latest)} and not tables.deleted`;

/** Whether readers can reach an extent: its generation is the present one, or one that continuations go on reading. */
export const isReachableInSql = `exists (
  select from tables where ${isShownNow}
  union all
  select from generations ended where ended.table_id = extents.table_id and ended.version = extents.generation
  and not ended.expired)`;

/** Whether a table shows the extent that a row ID names, and whether the extent has that row. */
export function isExtentOf(at: ShownBy, version: string, ordinal: string, index: string): string {
  return `${isShownAt('extents', at)} and extents.version = ${version} and extents.ordinal = ${ordinal} and ${index} < extents.rows`;
}

/** Retained IDs with the extents whose rows have them. Extents of several generations may have the same rows. */
export const retainingExtents = `retained_ids join extents on extents.segment = retained_ids.segment
and extents.retained is not null
      and retained_ids.index >= extents.first and retained_ids.index < extents.first + extents.rows`;

const retainedAt = (extent: string, place: string): string =>
  `from retained_ids where retained_ids.segment = ${extent}.segment and retained_ids.index = ${place}`;

/** The ID that the row at a place in the extent's segment retains; null if it retains none. */
export function retainedIdAt(extent: string, place: string): string {
  return `case when ${extent}.retained is not null then (select retained_ids.id ${retainedAt(extent, place)}) end`;
}

/** Whether the row at a place retains an ID. The index alone answers this. */
export function retainsIdAt(extent: string, place: string): string {
  return `${extent}.retained is not null and exists (select ${retainedAt(extent, place)})`;
}
