/**
 * How a stored body is read today, in SQL and in code. A row's body is in the segment of its extent, as it was received
 * or as a schema presented it; once the row is patched or deleted, its newest body is a change.
 */
import {
  isPresentedBy,
  presenterOf,
  receivedForm,
  type BodyForm,
  type StoredForm,
} from '../../src/language/values/presentation.ts';
import type { Rule } from '../../src/language/values/rule.ts';
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import type { Extent } from './table.ts';

/** How the unchanged bodies of an extent are stored. */
export function formOf({
  presented,
  cells,
  schemaVersion,
  wrap,
  rule,
}: Pick<Extent, 'presented' | 'cells' | 'schemaVersion' | 'wrap' | 'rule'>): BodyForm {
  return presented === null
    ? { stored: receivedForm(cells), decidedAt: schemaVersion, wrap, rule }
    : changedForm(presented);
}

/** How a body is stored that was presented under this schema version, such as a change. */
export function changedForm(version: bigint): BodyForm {
  return { stored: 'presented', decidedAt: version, wrap: false, rule: 1 };
}

/** `formOf` in SQL, as a text for `parseForm`. */
export function formInSql(extent: string): string {
  return `case when ${extent}.presented is null
    then concat_ws(' ', case when ${extent}.cells then 'cells' else 'received' end, ${extent}.schema_version, ${extent}.wrap, ${extent}.rule)
    else ${changedFormInSql(`${extent}.presented`)} end`;
}

/** `changedForm` in SQL. */
export function changedFormInSql(version: string): string {
  return `'presented ' || ${version} || ' f 1'`;
}

/**
 * `isPresentedBy` in SQL, for a body presented under a schema version; false if `presented` is null (stored as
 * received).
 */
export function isPresentedInSql(presented: string, widened: string): string {
  return `coalesce(${widened} <= ${presented}, false)`;
}

/** Parses the result of `formInSql` or `changedFormInSql`. */
export function parseForm(text: string): BodyForm {
  const [stored, decidedAt, wrap, rule] = text.split(' ') as [StoredForm, string, 't' | 'f', string];
  return { stored, decidedAt: BigInt(decidedAt), wrap: wrap === 't', rule: Number(rule) as Rule };
}

/** A body as the schema presents it. `widened`: the version of the last event that widened a column of it. */
export function readBody(body: string, form: BodyForm, schema: TableSchema, widened: bigint): string {
  return isPresentedBy(form, widened) ? body : presenterOf(schema, form)(body);
}

/**
 * Joins the row at an index of an extent: `change` if it was patched, or deleted (body null); else `stored`, whose
 * version is null unless the row came through a tail. The limits make each look-up an index probe: without them the
 * planner may scan whole tables for each row.
 * @param isChanged in SQL, whether the row may have a change: by default, whether any row of its extent has one
 */
export function joinRowAt(extent: string, index: string, isChanged = `${extent}.changed`): string {
  return `left join lateral (
      select version, body from changes
      where ${isChanged} and changes.extent = ${extent}.key and changes.index = ${index} limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = ${extent}.segment and segment_rows.index = ${extent}.first + ${index} limit 1
    ) stored on true`;
}

/**
 * The rows of an extent from one index (inclusive) to another (exclusive): their indexes, their places in the segment
 * (order by these), the versions of their changes, their versions in the tail, and their bodies (null: deleted).
 */
export function selectRowsOf(extent: string, from: string, to: string): string {
  return `select segment_rows.index - ${extent}.first as index, segment_rows.index as place, changes.version as change_version,
      segment_rows.version as tail_version, case when changes.extent is null then segment_rows.body else changes.body end as body
    from segment_rows left join changes
      on ${extent}.changed and changes.extent = ${extent}.key and changes.index = segment_rows.index - ${extent}.first
    where segment_rows.segment = ${extent}.segment
      and segment_rows.index >= ${extent}.first + ${from} and segment_rows.index < ${extent}.first + ${to}`;
}
