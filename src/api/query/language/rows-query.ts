/** The language of queries for rows: `GET .../rows` and `POST .../query` (docs/spec/queries.md). */
import { readCondition, type Condition } from './condition.ts';
import { malformed } from './query-error.ts';

interface SortKey {
  /** The ID of a column, or the name of an aggregate. */
  readonly column: string;
  readonly descending: boolean;
}

export const aggregateFunctions = ['count', 'countDistinct', 'sum', 'avg', 'min', 'max'] as const;
type AggregateFunction = (typeof aggregateFunctions)[number];

export interface Aggregate {
  readonly op: AggregateFunction;
  /** Null: `count` of rows. */
  readonly column: string | null;
  /** The name of its value in the answer. */
  readonly as: string;
}

export interface RowsQuery {
  /** The prefix of members' names in messages, such as `query.`. */
  readonly prefix: string;
  readonly filter: Condition | null;
  readonly sort: readonly SortKey[];
  /** The columns of the answer; null: all. */
  readonly fields: readonly string[] | null;
  /** Whether to count the rows that match the filter. */
  readonly count: boolean;
  /** If `groupBy` or `aggregate` is not empty, the answer has groups instead of rows. */
  readonly groupBy: readonly string[];
  readonly aggregate: readonly Aggregate[];
}

export const sortKeysMax = 16;
export const fieldsMax = 1002;
export const aggregatesMax = 100;
export const nameLengthMax = 256;
/** A column ID, optionally after a minus; without U+0000. */
// oxlint-disable-next-line no-control-regex
export const sortKeyPattern = /^(-[^\u0000]|[^-\u0000])[^\u0000]*$/;

export function hasGroups({ groupBy, aggregate }: RowsQuery): boolean {
  return groupBy.length > 0 || aggregate.length > 0;
}

/** A query as sent, in members of a body or in query parameters. Absent ones are undefined. */
export interface GivenQuery {
  readonly filter?: unknown;
  readonly sort?: unknown;
  readonly fields?: unknown;
  readonly count?: unknown;
  readonly groupBy?: unknown;
  readonly aggregate?: unknown;
}

/** Reads a query from parsed JSON. Throws QueryError with the place of the problem, which begins with `prefix`. */
export function readRowsQuery(given: GivenQuery, prefix = ''): RowsQuery {
  const query: RowsQuery = {
    prefix,
    filter: given.filter === undefined ? null : readCondition(given.filter, `${prefix}filter`),
    sort: readSort(given.sort, `${prefix}sort`),
    fields: given.fields === undefined ? null : readIds(given.fields, `${prefix}fields`, fieldsMax),
    count: readCount(given.count, `${prefix}count`),
    groupBy: given.groupBy === undefined ? [] : readIds(given.groupBy, `${prefix}groupBy`, sortKeysMax),
    aggregate: given.aggregate === undefined ? [] : readAggregates(given.aggregate, `${prefix}aggregate`),
  };
  if (!hasGroups(query)) return query;
  if (query.fields !== null) throw malformed(`${prefix}fields`, 'has no meaning with groupBy or aggregate');
  const names = [...query.groupBy, ...query.aggregate.map(({ as }) => as)];
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw malformed(
      `${prefix}aggregate`,
      `the answer would have ${JSON.stringify(twice)} twice; name one of them by "as"`,
    );
  const unknown = query.sort.findIndex(({ column }) => !names.includes(column));
  if (unknown !== -1)
    throw malformed(`${prefix}sort[${unknown}]`, 'must be a column of groupBy or the name of an aggregate');
  return query;
}

function readIds(given: unknown, place: string, max: number): string[] {
  if (!Array.isArray(given)) throw malformed(place, 'must be an array of column IDs');
  if (given.length > max) throw malformed(place, `must have at most ${max} columns`);
  given.forEach((id, at) => {
    if (typeof id !== 'string') throw malformed(`${place}[${at}]`, 'must be the ID of a column');
    if (given.indexOf(id) !== at) throw malformed(`${place}[${at}]`, 'is named twice');
  });
  return given as string[];
}

/** `["-amount","name"]`: a minus sorts in descending order. `[{"column":"-5"}]`: an ID that begins with a minus. */
function readSort(given: unknown, place: string): SortKey[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw malformed(place, 'must be an array of column IDs');
  if (given.length > sortKeysMax) throw malformed(place, `must have at most ${sortKeysMax} columns`);
  const keys = given.map((key: unknown, at) =>
    typeof key === 'string' ? readSortText(key, `${place}[${at}]`) : readSortKey(key, `${place}[${at}]`),
  );
  keys.forEach(({ column, descending }, at) => {
    if (keys.findIndex((other) => other.column === column && other.descending === descending) !== at)
      throw malformed(`${place}[${at}]`, 'is named twice');
  });
  return keys;
}

function readSortText(text: string, place: string): SortKey {
  if (!sortKeyPattern.test(text)) throw malformed(place, 'must be the ID of a column');
  const descending = text.startsWith('-');
  return { column: descending ? text.slice(1) : text, descending };
}

function readSortKey(key: unknown, place: string): SortKey {
  if (typeof key !== 'object' || key === null || Array.isArray(key))
    throw malformed(place, 'must be the ID of a column');
  const { column, descending = false, ...others } = key as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (other !== undefined) throw malformed(`${place}.${other}`, 'there is no such property');
  if (typeof column !== 'string' || column === '') throw malformed(`${place}.column`, 'must be the ID of a column');
  if (typeof descending !== 'boolean') throw malformed(`${place}.descending`, 'must be true or false');
  return { column, descending };
}

function readCount(given: unknown, place: string): boolean {
  if (given === undefined) return false;
  if (given !== 'exact') throw malformed(place, 'must be "exact"');
  return true;
}

function readAggregates(given: unknown, place: string): Aggregate[] {
  if (!Array.isArray(given)) throw malformed(place, 'must be an array, such as [{"op":"sum","column":"amount"}]');
  if (given.length > aggregatesMax) throw malformed(place, `must have at most ${aggregatesMax} aggregates`);
  return given.map((item: unknown, n) => {
    const at = `${place}[${n}]`;
    if (typeof item !== 'object' || item === null || Array.isArray(item)) throw malformed(at, 'must be an object');
    const { op, column, as, ...others } = item as Readonly<Record<string, unknown>>;
    const [other] = Object.keys(others);
    if (other !== undefined) throw malformed(`${at}.${other}`, 'there is no such property');
    if (!aggregateFunctions.includes(op as AggregateFunction))
      throw malformed(`${at}.op`, `must be one of ${aggregateFunctions.join(', ')}`);
    if (column === undefined ? op !== 'count' : typeof column !== 'string')
      throw malformed(`${at}.column`, 'must be the ID of a column');
    if (as !== undefined && (typeof as !== 'string' || as === '' || as.length > nameLengthMax))
      throw malformed(`${at}.as`, `must be a name of at most ${nameLengthMax} characters`);
    const name = column === undefined ? String(op) : `${String(op)}_${column as string}`;
    return {
      op: op as AggregateFunction,
      column: (column as string | undefined) ?? null,
      as: (as as string | undefined) ?? name,
    };
  });
}
