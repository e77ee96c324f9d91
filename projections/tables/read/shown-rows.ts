/**
 * SQL for the rows and bodies that extents show at a version. The body of a row is in the segment of its extent. Once
 * the row is patched or deleted, its newest body is in a change.
 */
import { formInSql } from './stored-body.ts';
import { retainedIdAt, type TableAt } from './table-at.ts';

/** The join that finds a row, and expressions for the row's parts. All are SQL. */
export type JoinedRow = Readonly<Record<'join' | 'body' | 'version' | 'form' | 'columns', string>>;

/**
 * The row at an index of an extent. If the row was patched or deleted, the join `change` finds its change (a deletion
 * has a null body). Otherwise the join `stored` finds the row in its segment; its version is null unless the row came
 * through a tail. The limits make each look-up an index probe: without them the planner may scan whole tables for each
 * row. `body` is null if the row is missing or deleted. `form` has the value of `formInSql`, and `columns` are the
 * columns of a `FoundRow`.
 * @param mayHaveChange in SQL; by default, whether any row of the extent has a change
 */
export function rowAtIndex(extent: string, index: string, at: TableAt, mayHaveChange = `${extent}.changed`): JoinedRow {
  return {
    join: `left join lateral (
      select version, body from changes
      where ${mayHaveChange} and changes.extent = ${extent}.key and changes.index = ${index} limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = ${extent}.segment and segment_rows.index = ${extent}.first + ${index} limit 1
    ) stored on true`,
    body: 'coalesce(change.body, stored.body)',
    version: `greatest(change.version, stored.version, ${extent}.version)`,
    form: formInSql(extent, `coalesce(change.version, ${extent}.presented)`, at.widened),
    columns: `${index} as "rowIndex", change.version as "changeVersion", change.body as "changeBody",
      stored.version as "tailVersion", stored.body as "storedBody"`,
  };
}

/**
 * The existing rows of an extent from one index (inclusive) to another (exclusive): one result row, in the shape of
 * `RowsOfPart`.
 * @param limit in SQL, the maximum number of rows
 * @param versions whether to select `tailVersions`
 */
export function rowsBetween(
  extent: string,
  [from, to]: readonly [string, string],
  { widened }: TableAt,
  { limit, versions }: { readonly limit: string; readonly versions: boolean },
): string {
  return `select count(*)::int4 as count, min(live.index) as first, string_agg(live.body, E'\\n') as bodies,
        ${formInSql(extent, `${extent}.presented`, widened)} as form,
        case when ${extent}.changed then array_agg(live.index) end as indexes,
        case when ${extent}.changed then array_agg(live.change_version) end as "changeVersions",
        ${versions ? 'case when count(live.tail_version) > 0 then array_agg(live.tail_version) end as "tailVersions",' : ''}
        case when ${extent}.retained is not null then array_agg(live.id) end as ids
      from (
        select index, body, change_version, tail_version, ${retainedIdAt(extent, 'stored.place')} as id
        from (
          select segment_rows.index - ${extent}.first as index, segment_rows.index as place,
          changes.version as change_version,
            segment_rows.version as tail_version, case when changes.extent is null then segment_rows.body
            else changes.body end as body
          from segment_rows left join changes
            on ${extent}.changed and changes.extent = ${extent}.key
            and changes.index = segment_rows.index - ${extent}.first
          where segment_rows.segment = ${extent}.segment
            and segment_rows.index >= ${extent}.first + ${from} and segment_rows.index < ${extent}.first + ${to}
        ) stored
        where body is not null order by place limit ${limit}
      ) live`;
}

/** Whether a row of an extent was patched or deleted, so that its body in the segment is not shown. */
export function hasChangeAt(extent: string, index: string): string {
  return `exists (select from changes where changes.extent = ${extent}.key and changes.index = ${index})`;
}
