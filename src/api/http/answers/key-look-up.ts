/** Filters that may be look-ups by the key of a table (docs/spec/queries.md, "filter"). */
import type { AskedValues } from '../../../../projections/tables/keys/keyed-rows.queries.ts';
import { readCondition, type Condition } from '../../query/language/condition.ts';
import { QueryError } from '../../query/language/query-error.ts';
import type { GivenQuery } from '../../query/language/rows-query.ts';

/**
 * The values that a query requires in each column, if its filter is one `eq` or `in`, or several `eq` that all must
 * hold. The query may count these rows, too. Null for any other query, also for an invalid one.
 */
export function askedValues(query: GivenQuery): AskedValues | null {
  const { filter, count, ...others } = query;
  if (count !== undefined && count !== 'exact') return null;
  if (filter === undefined || Object.values(others).some((member) => member !== undefined)) return null;
  const condition = conditionOf(filter);
  if (condition === null) return null;
  if ('op' in condition && condition.op === 'in')
    return new Map([[condition.column, condition.value as readonly unknown[]]]);
  const parts = 'and' in condition ? condition.and : [condition];
  const values = new Map<string, readonly unknown[]>();
  for (const part of parts) {
    if (!('op' in part) || part.op !== 'eq' || values.has(part.column)) return null;
    values.set(part.column, [part.value]);
  }
  return values.size === 0 ? null : values;
}

function conditionOf(filter: unknown): Condition | null {
  try {
    return readCondition(filter, 'filter');
  } catch (error) {
    if (error instanceof QueryError) return null;
    throw error;
  }
}
