/** How a body is stored, in SQL and in code: as it was received, or as a schema presented it. */
import { receivedForm, type BodyForm, type StoredForm } from '../../../src/language/values/presentation.ts';
import type { Rule } from '../../../src/language/values/rule.ts';
import type { Extent } from '../table.ts';

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
