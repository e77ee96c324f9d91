/** The language of filters: conditions in JSON (docs/spec/queries.md, "filter"). */
import { malformed } from './query-error.ts';

export const comparisonOperators = [
  'eq',
  'ne',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'contains',
  'startsWith',
  'endsWith',
  'isEmpty',
  'isNotEmpty',
  'has',
] as const;
export type ComparisonOperator = (typeof comparisonOperators)[number];

/** Compares the cells of a column with a value, or for `in` with several. */
export interface Comparison {
  readonly column: string;
  readonly op: ComparisonOperator;
  /** JSON; absent for `isEmpty` and `isNotEmpty`. */
  readonly value?: unknown;
  readonly ignoreCase?: boolean;
}

export type Condition =
  | Comparison
  | { readonly and: readonly Condition[] }
  | { readonly or: readonly Condition[] }
  | { readonly not: Condition };

/** Limits of a filter: conditions, depth of nesting, and values in all of its `in` together. */
const conditionsMax = 100;
const depthMax = 10;
const valuesMax = 2000;

const withoutValue: ReadonlySet<ComparisonOperator> = new Set(['isEmpty', 'isNotEmpty']);
const withCase: ReadonlySet<ComparisonOperator> = new Set(['contains', 'startsWith', 'endsWith']);

/** Reads a filter from parsed JSON. Throws QueryError with the place of the problem. */
export function readCondition(given: unknown, place: string): Condition {
  let count = 0;
  let values = 0;

  const read = (value: unknown, at: string, depth: number): Condition => {
    count += 1;
    if (count > conditionsMax) throw malformed(place, `must have at most ${conditionsMax} conditions`);
    if (depth > depthMax) throw malformed(place, `must be nested at most ${depthMax} deep`);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw malformed(at, 'must be an object, such as {"column":"age","op":"gte","value":18}');
    const members = value as Readonly<Record<string, unknown>>;
    for (const name of ['and', 'or'] as const) {
      if (!(name in members)) continue;
      allowOnly(members, [name], at);
      const parts = members[name];
      if (!Array.isArray(parts)) throw malformed(`${at}.${name}`, 'must be an array of conditions');
      const conditions = parts.map((part, n) => read(part, `${at}.${name}[${n}]`, depth + 1));
      return name === 'and' ? { and: conditions } : { or: conditions };
    }
    if ('not' in members) {
      allowOnly(members, ['not'], at);
      return { not: read(members['not'], `${at}.not`, depth + 1) };
    }
    const comparison = readComparison(members, at);
    if (comparison.op === 'in') values += (comparison.value as readonly unknown[]).length;
    if (values > valuesMax) throw malformed(place, `must name at most ${valuesMax} values by \`in\``);
    return comparison;
  };

  return read(given, place, 1);
}

function readComparison(members: Readonly<Record<string, unknown>>, at: string): Comparison {
  allowOnly(members, ['column', 'op', 'value', 'ignoreCase'], at);
  const { column, op, value, ignoreCase } = members;
  if (typeof column !== 'string') throw malformed(`${at}.column`, 'must be the ID of a column');
  if (!comparisonOperators.includes(op as ComparisonOperator))
    throw malformed(`${at}.op`, `must be one of ${comparisonOperators.join(', ')}`);
  const operator = op as ComparisonOperator;
  if (withoutValue.has(operator) ? value !== undefined : value === undefined || value === null) {
    throw malformed(
      `${at}.value`,
      withoutValue.has(operator)
        ? `has no meaning with ${operator}`
        : 'must be there; whether a cell is empty is asked by isEmpty',
    );
  }
  if (operator === 'in') {
    if (!Array.isArray(value)) throw malformed(`${at}.value`, 'must be an array of values');
    const empty = value.indexOf(null);
    if (empty !== -1)
      throw malformed(`${at}.value[${empty}]`, 'must not be null; whether a cell is empty is asked by isEmpty');
  }
  if (ignoreCase !== undefined) {
    if (typeof ignoreCase !== 'boolean') throw malformed(`${at}.ignoreCase`, 'must be true or false');
    if (!withCase.has(operator)) throw malformed(`${at}.ignoreCase`, `has no meaning with ${operator}`);
  }
  return {
    column,
    op: operator,
    ...(value === undefined ? {} : { value }),
    ...(ignoreCase === undefined ? {} : { ignoreCase }),
  };
}

function allowOnly(members: Readonly<Record<string, unknown>>, names: readonly string[], at: string): void {
  const other = Object.keys(members).find((name) => !names.includes(name));
  if (other !== undefined) throw malformed(`${at}.${other}`, 'there is no such property');
}
