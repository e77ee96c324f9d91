/** Words in the syntax tree of a query, and their SQL. Other words are refused. */

export const directions: ReadonlyMap<string, string> = new Map([
  ['ORDER_DEFAULT', ''],
  ['ASCENDING', ' ASC'],
  ['DESCENDING', ' DESC'],
]);
export const nullOrders: ReadonlyMap<string, string> = new Map([
  ['ORDER_DEFAULT', ''],
  ['NULLS FIRST', ' NULLS FIRST'],
  ['NULLS LAST', ' NULLS LAST'],
]);
export const comparisons: ReadonlyMap<string, string> = new Map([
  ['COMPARE_EQUAL', '='],
  ['COMPARE_NOTEQUAL', '<>'],
  ['COMPARE_LESSTHAN', '<'],
  ['COMPARE_GREATERTHAN', '>'],
  ['COMPARE_LESSTHANOREQUALTO', '<='],
  ['COMPARE_GREATERTHANOREQUALTO', '>='],
  ['COMPARE_DISTINCT_FROM', 'IS DISTINCT FROM'],
  ['COMPARE_NOT_DISTINCT_FROM', 'IS NOT DISTINCT FROM'],
]);
export const conjunctions: ReadonlyMap<string, string> = new Map([
  ['CONJUNCTION_AND', 'AND'],
  ['CONJUNCTION_OR', 'OR'],
]);
export const collations: ReadonlyMap<string, string> = new Map([
  ['nocase', 'nocase'],
  ['noaccent', 'noaccent'],
  ['nfc', 'nfc'],
  ['binary', 'binary'],
]);
export const exclusions: ReadonlyMap<string, string> = new Map([
  ['NO_OTHER', ''],
  ['CURRENT_ROW', ' EXCLUDE CURRENT ROW'],
  ['GROUP', ' EXCLUDE GROUP'],
  ['TIES', ' EXCLUDE TIES'],
]);

/** A bound of the frame of a window. */
interface Bound {
  /** Null if the bound fits all units. */
  readonly unit: 'ROWS' | 'RANGE' | 'GROUPS' | null;
  readonly text: string;
  readonly isExpression: boolean;
}

/** The bounds of the frame of a window. */
export const bounds: ReadonlyMap<string, Bound> = new Map([
  ['UNBOUNDED_PRECEDING', { unit: null, text: 'UNBOUNDED PRECEDING', isExpression: false }],
  ['UNBOUNDED_FOLLOWING', { unit: null, text: 'UNBOUNDED FOLLOWING', isExpression: false }],
  ...(['ROWS', 'RANGE', 'GROUPS'] as const).flatMap((unit): [string, Bound][] => [
    [`CURRENT_ROW_${unit}`, { unit, text: 'CURRENT ROW', isExpression: false }],
    [`EXPR_PRECEDING_${unit}`, { unit, text: 'PRECEDING', isExpression: true }],
    [`EXPR_FOLLOWING_${unit}`, { unit, text: 'FOLLOWING', isExpression: true }],
  ]),
]);
