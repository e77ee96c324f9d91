/**
 * A simple reference implementation of queries (docs/spec/queries.md): it evaluates them over rows as the interface
 * presents them.
 */
import { itemOf, type Json } from './column-types.ts';

export type QueriedRow = Readonly<Record<string, Json>>;
export type Types = Readonly<Record<string, string>>;

// oxlint-disable-next-line typescript/no-explicit-any -- filters as clients send them
type Filter = any;

/** The value by which cells of a scalar type other than `json` are compared. */
export function comparedValue(value: Json, type: string): number | bigint | string | boolean {
  if (type === 'number') return value as number;
  if (type === 'boolean') return value as boolean;
  if (type === 'date' || type === 'dateTime') return momentOf(value as string);
  if (type === 'time') return momentOf(`1970-01-01T${value as string}`);
  return value as string;
}

/** Microseconds since 1970. */
function momentOf(given: string): bigint {
  const text = given
    .replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/, '$1-$2-$3T$4:$5')
    .replace(/(T\d\d:\d\d)(\d\d)/, '$1:$2');
  const [, date, time = '00:00', seconds = ':00', fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.(\d+))?(.+)?)?$/.exec(text)!;
  const offset = zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  return BigInt(Date.parse(`${date}T${time}${seconds}${offset}`)) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

export function isOrdered(type: string): boolean {
  return itemOf(type) === null && type !== 'json' && type !== 'duration';
}

/** Strings by code point, all other values by value. */
function compare(a: Json, b: Json, type: string): number {
  const [x, y] = [comparedValue(a, type), comparedValue(b, type)];
  if (typeof x === 'string') return Math.sign(Buffer.compare(Buffer.from(x), Buffer.from(y as string)));
  return x < y ? -1 : x > y ? 1 : 0;
}

function isEqual(a: Json, b: Json, type: string): boolean {
  const item = itemOf(type);
  if (item !== null) {
    const [x, y] = [a as readonly Json[], b as readonly Json[]];
    return x.length === y.length && x.every((element, at) => isEqual(element, y[at]!, item));
  }
  return isOrdered(type) ? compare(a, b, type) === 0 : isSame(a, b);
}

function isSame(a: Json, b: Json): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [x, y] = [Object.entries(a), Object.entries(b)];
  return (
    Array.isArray(a) === Array.isArray(b) &&
    x.length === y.length &&
    x.every(([key, value]) => Object.hasOwn(b, key) && isSame(value, (b as Record<string, Json>)[key]!))
  );
}

/** Each character by itself, as in the service. */
function lower(text: string): string {
  return [...text].map((character) => character.toLowerCase()).join('');
}

/** Whether a row meets a filter. */
export function meets(row: QueriedRow, filter: Filter, types: Types): boolean {
  if (filter.and !== undefined) return filter.and.every((part: Filter) => meets(row, part, types));
  if (filter.or !== undefined) return filter.or.some((part: Filter) => meets(row, part, types));
  if (filter.not !== undefined) return !meets(row, filter.not, types);
  const { column, op, value, ignoreCase } = filter;
  const [cell, type] = [row[column], types[column]!];
  if (cell === undefined) return op === 'isEmpty' || op === 'ne';
  const fold = (text: Json): string => (ignoreCase === true ? lower(text as string) : (text as string));
  switch (op) {
    case 'isEmpty':
      return false;
    case 'isNotEmpty':
      return true;
    case 'eq':
      return isEqual(cell, value, type);
    case 'ne':
      return !isEqual(cell, value, type);
    case 'lt':
      return compare(cell, value, type) < 0;
    case 'lte':
      return compare(cell, value, type) <= 0;
    case 'gt':
      return compare(cell, value, type) > 0;
    case 'gte':
      return compare(cell, value, type) >= 0;
    case 'in':
      return value.some((one: Json) => isEqual(cell, one, type));
    case 'contains':
      return fold(cell).includes(fold(value));
    case 'startsWith':
      return fold(cell).startsWith(fold(value));
    case 'endsWith':
      return fold(cell).endsWith(fold(value));
    case 'has':
      return (cell as readonly Json[]).some((element) => isEqual(element, value, itemOf(type)!));
    default:
      throw new Error(`there is no operator ${op}`);
  }
}

/** Rows sorted by keys like `-amount`: empty cells last, ties in their order. */
export function sorted(rows: readonly QueriedRow[], keys: readonly string[], types: Types): QueriedRow[] {
  return rows.toSorted((a, b) => {
    for (const key of keys) {
      const descending = key.startsWith('-');
      const column = descending ? key.slice(1) : key;
      const [x, y] = [a[column], b[column]];
      if (x === undefined || y === undefined) {
        if (x === y) continue;
        return x === undefined ? 1 : -1;
      }
      const order = compare(x, y, types[column]!);
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  });
}

/** How groups show a value. */
function shown(value: Json, type: string): Json {
  if (type !== 'date' && type !== 'time' && type !== 'dateTime') return value;
  const moment = momentOf(type === 'time' ? `1970-01-01T${value as string}` : (value as string));
  if (type === 'date') return value;
  const day = 86_400_000_000n;
  const rest = ((moment % day) + day) % day;
  const fraction = String(rest % 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const clock = new Date(Number(rest / 1000n)).toISOString().slice(11, 19) + (fraction === '' ? '' : `.${fraction}`);
  if (type === 'time') return clock;
  return `${new Date(Number((moment - rest) / 1000n)).toISOString().split('T')[0]}T${clock}Z`;
}

interface Aggregate {
  readonly op: string;
  readonly column?: string;
  readonly as: string;
}

/** The groups of rows, in no order. */
export function groups(
  rows: readonly QueriedRow[],
  groupBy: readonly string[],
  aggregate: readonly Aggregate[],
  types: Types,
): Record<string, Json>[] {
  const byKey = new Map<string, QueriedRow[]>();
  for (const row of rows) {
    const key = JSON.stringify(
      groupBy.map((column) => (row[column] === undefined ? null : String(comparedValue(row[column], types[column]!)))),
    );
    byKey.set(key, [...(byKey.get(key) ?? []), row]);
  }
  if (groupBy.length === 0 && byKey.size === 0) byKey.set('', []);
  return [...byKey.values()].map((members) => ({
    ...Object.fromEntries(
      groupBy.map((column) => {
        const cell = members[0]?.[column];
        return [column, cell === undefined ? null : shown(cell, types[column]!)];
      }),
    ),
    ...Object.fromEntries(aggregate.map(({ op, column, as }) => [as, valueOf(members, op, column, types)])),
  }));
}

function valueOf(rows: readonly QueriedRow[], op: string, column: string | undefined, types: Types): Json {
  if (column === undefined) return rows.length;
  const type = types[column]!;
  const cells = rows.flatMap((row) => (row[column] === undefined ? [] : [row[column]]));
  if (op === 'count') return cells.length;
  if (op === 'countDistinct')
    return cells.filter((cell, at) => cells.findIndex((other) => isEqual(cell, other, type)) === at).length;
  if (cells.length === 0) return null;
  if (op === 'min')
    return shown(
      cells.reduce((a, b) => (compare(b, a, type) < 0 ? b : a)),
      type,
    );
  if (op === 'max')
    return shown(
      cells.reduce((a, b) => (compare(b, a, type) > 0 ? b : a)),
      type,
    );
  const sum = (cells as number[]).reduce((a, b) => a + b, 0);
  return op === 'sum' ? sum : sum / cells.length;
}
