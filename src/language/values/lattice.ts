/**
 * The order of the column types, and least upper bounds (docs/spec/decisions.md 2, "Widening is a lattice").
 *
 * `json` is the top, `array<json>` is directly below it, and every other type is below both. Bounds come from a table,
 * because inference computes them for millions of values.
 */
import { columnTypes, isArrayType, itemKind, scalarTraits } from './column-type.ts';
import type { ColumnType, ScalarKind } from './column-type.ts';

function isScalarAtMost(a: ScalarKind, b: ScalarKind): boolean {
  return a === b || b === 'json' || scalarTraits[a].wider.includes(b);
}

function isAtMostByRule(a: ColumnType, b: ColumnType): boolean {
  if (b === 'json') return true;
  if (!isArrayType(b)) return !isArrayType(a) && isScalarAtMost(a, b);
  if (isArrayType(a)) return isScalarAtMost(itemKind(a), itemKind(b));
  return a !== 'json' && isScalarAtMost(a, itemKind(b));
}

/** For the bit of each type: the types that are at least that type. */
const atLeast = columnTypes.map((a) =>
  columnTypes.reduce((set, b, bit) => (isAtMostByRule(a, b) ? set | (1 << bit) : set), 0),
);

/** For each pair of types: their least upper bound. */
const bounds = columnTypes.map((_a, i) =>
  columnTypes.map((_b, j) => columnTypes[atLeast.indexOf(atLeast[i]! & atLeast[j]!)]!),
);

const bitOf = new Map<ColumnType, number>(columnTypes.map((type, bit) => [type, bit]));

/** Whether every value of `a` can be presented as `b`: a <= b. */
export function isAtMost(a: ColumnType, b: ColumnType): boolean {
  return (atLeast[bitOf.get(a)!]! & (1 << bitOf.get(b)!)) !== 0;
}

/** The least type to which both can be widened. */
export function leastUpperBound(a: ColumnType, b: ColumnType): ColumnType {
  return a === b ? a : bounds[bitOf.get(a)!]![bitOf.get(b)!]!;
}

/** The least upper bound. Null is an unknown type: the result is the other one. */
export function boundOfKnown(a: ColumnType | null, b: ColumnType | null): ColumnType | null {
  if (a === null || b === null) return a ?? b;
  return leastUpperBound(a, b);
}
