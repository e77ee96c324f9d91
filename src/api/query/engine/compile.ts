/**
 * Compiles queries to SQL of the columnar engine. Values of clients are parameters; names of columns are those of the
 * copy, never the client's.
 */
import { BIGINT, VARCHAR, type DuckDBType, type DuckDBValue } from '@duckdb/node-api';
import { isArrayType, itemKind, type ColumnType } from '../../../language/values/column-type.ts';
import { fitToken } from '../../../language/values/fit-value.ts';
import type { Comparison, Condition, ComparisonOperator } from '../language/condition.ts';
import { QueryError } from '../language/query-error.ts';
import { hasGroups, type Aggregate, type RowsQuery } from '../language/rows-query.ts';
import { extracted, pointerTo } from './extracted.ts';
import { withParts, type Placed } from './parts.ts';
import { storedType, type StoredType } from './stored-type.ts';

/** A column of a copy, as queries name it. */
export interface QueryColumn extends Placed {
  readonly sql: string;
  readonly type: ColumnType;
}

/** What queries read: a table of the engine with its parts, at one version. */
export interface QuerySource {
  readonly from: string;
  readonly version: bigint;
  /** By column ID. */
  readonly columns: ReadonlyMap<string, QueryColumn>;
}

export interface Sql {
  readonly text: string;
  readonly values: DuckDBValue[];
  readonly types: DuckDBType[];
}

interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** How many bytes the texts of a group may have. */
const groupBytesMax = 16 * 1024 * 1024;

/** What statements raise that find a result too long. */
export const tooLong = 'The values of a group are larger than an answer may be.';

/** Rows by their numbers in the copy, from one on and before another. */
export interface Numbers {
  readonly from: bigint;
  readonly to: bigint;
}

/** What a row of an export takes besides its body, at most. */
const bytesBesideBody = 64;

const rowId = '$rowID';

/** A statement in the making: collects the parameters. */
class Builder {
  readonly values: DuckDBValue[] = [];
  readonly types: DuckDBType[] = [];
  readonly #columns: Placed[] = [];

  add(value: DuckDBValue, type: DuckDBType): string {
    this.values.push(value);
    this.types.push(type);
    return `$${this.values.length}`;
  }

  /** A column that the statement reads. */
  read(column: Placed): void {
    this.#columns.push(column);
  }

  /** What it reads from. To be asked when all columns are known that it reads. */
  from({ from }: QuerySource): string {
    return withParts(from, this.#columns);
  }

  build(text: string): Sql {
    return { text, values: this.values, types: this.types };
  }
}

/** The rows that a query asks for: columns `row_id`, `row_version` and `body`. Throws QueryError. */
export function compileRows(query: RowsQuery, source: QuerySource, { offset, limit }: Slice): Sql {
  const builder = new Builder();
  const found = compileSortedRows(query, source, builder, shownColumns);
  return builder.build(
    `${found} LIMIT ${builder.add(BigInt(limit), BIGINT)} OFFSET ${builder.add(BigInt(offset), BIGINT)}`,
  );
}

/** Which rows of a source are read as text, and how. */
export interface TextRows {
  /** Null for all of them, whatever their versions. */
  readonly query: RowsQuery | null;
  readonly source: QuerySource;
  /** Whether they have `$version`. */
  readonly isVersioned: boolean;
  /** Whether the source holds its rows in the order of their numbers. */
  readonly isInOrder: () => boolean;
  /** What stands before and behind each row. */
  readonly before: string;
  readonly behind: string;
  /** Whether `$rowID` stands before the object of a row, instead of in it: this takes much less time. */
  readonly hasIdBefore: boolean;
}

/** The rows with some numbers, in their order, as the JSON that pages have. */
export function compileText(
  { query, source, isVersioned, isInOrder, before, behind, hasIdBefore }: TextRows,
  numbers: Numbers,
): Sql {
  const builder = new Builder();
  const where = query === null ? 'true' : compileWhere(query, source, builder);
  const from = builder.from(source);
  // A join may bring them in another order.
  const order = isInOrder() && from === source.from ? '' : ' ORDER BY n';
  const parts = [
    ...textIn(before),
    hasIdBefore && !isVersioned ? 'row_id, body' : objectWithId(isVersioned),
    ...textIn(behind),
  ];
  // `||` would write each row once for each of its parts.
  const row = `concat(${parts.join(', ')})`;
  return builder.build(`SELECT ${row} FROM ${from} WHERE ${compileNumbers(numbers)} AND ${where}${order}`);
}

function textIn(text: string): string[] {
  return text === '' ? [] : [`'${text}'`];
}

/** The parts of the object of a row that begins with `$rowID`. */
function objectWithId(isVersioned: boolean): string {
  const version = isVersioned ? `, '","$version":"', row_version` : '';
  // `substr` would count characters.
  return `'{"$rowID":"', row_id${version}, CASE WHEN body = '{}' THEN '"}' ELSE '",' END, ltrim(nullif(body, '{}'), '{')`;
}

/**
 * The rows that a query asks for whose bodies are longer than so many bytes, as JSON with `$rowID`, each with a line
 * feed behind it. Throws QueryError.
 */
export function compileLongRows(query: RowsQuery, source: QuerySource, bytes: number): Sql {
  const builder = new Builder();
  const where = compileWhere(query, source, builder);
  return builder.build(
    `SELECT concat(${objectWithId(false)}, chr(10)) FROM ${builder.from(source)} WHERE strlen(body) > ${bytes} AND ${where}`,
  );
}

/** How many bytes the bodies of the rows with some numbers have. */
export function compileLength({ from }: QuerySource, numbers: Numbers): Sql {
  return new Builder().build(
    `SELECT coalesce(sum(strlen(body)), 0)::BIGINT FROM ${from} WHERE ${compileNumbers(numbers)}`,
  );
}

/** How many bytes the rows that a query asks for have, with some for their IDs and versions. Throws QueryError. */
export function compileBytes(query: RowsQuery, source: QuerySource): Sql {
  const builder = new Builder();
  const where = compileWhere(query, source, builder);
  return builder.build(
    `SELECT coalesce(sum(strlen(body) + ${bytesBesideBody}), 0)::BIGINT FROM ${builder.from(source)} WHERE ${where}`,
  );
}

/** Makes a table of the rows that a query asks for, numbered in its order. Throws QueryError. */
export function compileSorted(query: RowsQuery, source: QuerySource, table: string): Sql {
  const builder = new Builder();
  return builder.build(
    `CREATE TABLE ${table} AS SELECT row_number() OVER () - 1 AS n, * FROM (${compileSortedRows(query, source, builder, shownColumns)})`,
  );
}

/** How many rows a table has. */
export function compileSize(table: string): Sql {
  return new Builder().build(`SELECT count(*) FROM ${table}`);
}

/** A value that has a zone, or an array in JSON that has one, among texts that are `dateTime`. */
const zonePattern = '[Tt ][0-9]{2}[^"]*(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)(?:"|$)';

/**
 * Which of these columns, which have moments, hold a value with a zone: one truth value for each. Whatever the rows are
 * that a query asks for, the answer is that of all of them.
 */
export function compileZones({ from, version }: QuerySource, ids: readonly string[]): Sql {
  const found = ids
    .map((_, at) => `coalesce(bool_or(regexp_matches(cells[${at + 1}], '${zonePattern}')), false)`)
    .join(', ');
  return new Builder().build(
    `SELECT ${found} FROM (SELECT ${extracted('body', ids.map(pointerTo))} AS cells FROM ${from} WHERE ${compileShown(version)})`,
  );
}

/** The columns of a file of Parquet whose types say nothing of zones, which their values may have. */
export function momentsOf(ids: readonly string[], { columns }: QuerySource): string[] {
  return ids.filter((id) => /^(?:dateTime|array<dateTime>)$/.test(columns.get(id)?.type ?? ''));
}

/**
 * Writes the rows that a query asks for to a file, with these columns. `zoned`: those with zones (compileZones). Throws
 * QueryError.
 */
export function compileParquet(
  query: RowsQuery,
  source: QuerySource,
  ids: readonly string[],
  zoned: ReadonlySet<string>,
  file: string,
): Sql {
  checkColumns(query, source);
  const builder = new Builder();
  const outputs = ids.map(
    (id, at) =>
      `${id === '$version' ? 'row_version' : inParquet(columnOf(source, builder, id, 'fields', false), zoned.has(id))} AS o${at}`,
  );
  const rows = compileSortedRows(query, source, builder, outputs.join(', '));
  // The names of clients come outside of all that is asked of the copy: nothing there can mean them.
  const named = namesInParquet(ids).map((name, at) => `o${at} AS "${name.replaceAll('"', '""')}"`);
  return builder.build(
    `COPY (SELECT ${named.join(', ')} FROM (${rows})) TO '${file.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRowsOf(ids.length)})`,
  );
}

/**
 * The names of columns in a file, whose readers do not tell `a` from `A`: the later ones get a number that no column
 * has.
 */
function namesInParquet(ids: readonly string[]): string[] {
  const taken = new Set<string>();
  const isFirst = ids.map((id) => !taken.has(id.toLowerCase()) && taken.add(id.toLowerCase()));
  const numbers = new Map<string, number>();
  return ids.map((id, at) => {
    if (isFirst[at]) return id;
    for (let number = (numbers.get(id.toLowerCase()) ?? 0) + 1; ; number += 1) {
      const name = `${id}_${number}`;
      if (taken.has(name.toLowerCase())) continue;
      numbers.set(id.toLowerCase(), number);
      taken.add(name.toLowerCase());
      return name;
    }
  });
}

/** A group of rows is in memory until it is written: so the more columns it has, the fewer rows. */
function rowGroupRowsOf(columns: number): number {
  return Math.max(Math.floor(30 * Math.min(100 / columns, 1)), 1) * 2048;
}

/** A column as the type of Parquet that it has. `isZoned`: its moments are adjusted to UTC. */
function inParquet({ sql, type }: QueryColumn, isZoned: boolean): string {
  switch (type) {
    case 'time':
      return `make_timestamp(${sql})::TIME`;
    case 'array<time>':
      return `list_transform(${sql}, lambda t: make_timestamp(t)::TIME)`;
    // A cast would go by the zone of the process.
    case 'dateTime':
      return isZoned ? `make_timestamptz(epoch_us(${sql}))` : sql;
    case 'array<dateTime>':
      return isZoned ? `list_transform(${sql}, lambda t: make_timestamptz(epoch_us(t)))` : sql;
    default:
      return sql;
  }
}

/** What answers show of rows. */
const shownColumns = 'row_id, row_version, body';

function compileSortedRows(query: RowsQuery, source: QuerySource, builder: Builder, outputs: string): string {
  checkColumns(query, source);
  const sort = query.sort.map(({ column, descending }, at) => {
    const { sql } = columnOf(source, builder, column, `${query.prefix}sort[${at}]`, true);
    return `${sql} ${descending ? 'DESC' : 'ASC'} NULLS LAST`;
  });
  const where = compileWhere(query, source, builder);
  return `SELECT ${outputs} FROM ${builder.from(source)} WHERE ${where} ORDER BY ${[...sort, 'n'].join(', ')}`;
}

function checkColumns({ fields, prefix }: RowsQuery, source: QuerySource): void {
  for (const [at, field] of (fields ?? []).entries()) {
    if (field !== rowId && field !== '$version') columnOf(source, null, field, `${prefix}fields[${at}]`, false);
  }
}

function compileNumbers({ from, to }: Numbers): string {
  return `n >= ${from} AND n < ${to}`;
}

/** How many rows meet the filter. Throws QueryError. */
export function compileCount(query: RowsQuery, source: QuerySource): Sql {
  const builder = new Builder();
  const where = compileWhere(query, source, builder);
  return builder.build(`SELECT count(*) FROM ${builder.from(source)} WHERE ${where}`);
}

/** A column of the groups of a query: its name in the answer, and how its values are shown. */
export interface GroupColumn {
  readonly name: string;
  readonly show: StoredType['show'];
}

/** The groups that a query asks for, one column for each of `columns`. Throws QueryError. */
export function compileGroups(
  query: RowsQuery,
  source: QuerySource,
  { offset, limit }: Slice,
): { readonly sql: Sql; readonly columns: readonly GroupColumn[] } {
  if (!hasGroups(query)) throw new Error('the query has no groups');
  const builder = new Builder();
  const where = compileWhere(query, source, builder);
  const groups = query.groupBy.map((id, at) => {
    const { sql, stored } = columnOf(source, builder, id, `${query.prefix}groupBy[${at}]`, true);
    return { name: id, sql, show: stored.show, isText: stored.sql === 'VARCHAR' };
  });
  const values = query.aggregate.map((aggregate, at) => ({
    name: aggregate.as,
    ...compileAggregate(aggregate, source, builder, `${query.prefix}aggregate[${at}]`),
  }));
  const columns = [...groups, ...values];
  const outputs = columns.map(({ sql }, at) => `${sql} AS o${at}`).join(', ');
  const grouping = groups.length === 0 ? '' : ` GROUP BY ${groups.map(({ sql }) => sql).join(', ')}`;
  const sort = query.sort.map(({ column, descending }) => {
    return `o${columns.findIndex(({ name }) => name === column)} ${descending ? 'DESC' : 'ASC'} NULLS LAST`;
  });
  // Groups differ, so this is one order.
  const order = [...sort, ...groups.map((_, at) => `o${at} ASC NULLS LAST`)];
  const range = `LIMIT ${builder.add(BigInt(limit), BIGINT)} OFFSET ${builder.add(BigInt(offset), BIGINT)}`;
  const found = `SELECT ${outputs} FROM ${builder.from(source)} WHERE ${where}${grouping}${order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`} ${range}`;
  // Texts are measured before they become values of this process.
  const length = columns
    .map(({ isText }, at) => (isText ? `coalesce(strlen(o${at}), 0)` : ''))
    .filter((part) => part !== '')
    .join(' + ');
  const text =
    length === ''
      ? found
      : `SELECT *, CASE WHEN ${length} > ${groupBytesMax} THEN error('${tooLong}') END FROM (${found})`;
  return { sql: builder.build(text), columns };
}

function compileAggregate(
  { op, column, as }: Aggregate,
  source: QuerySource,
  builder: Builder,
  at: string,
): { readonly sql: string; readonly show: StoredType['show']; readonly isText: boolean } {
  const count = (sql: string) => ({ sql, show: (stored: DuckDBValue): unknown => Number(stored), isText: false });
  if (column === null) return count('count(*)');
  if (op === 'count') return count(`count(${columnOf(source, builder, column, `${at}.column`, false).sql})`);
  if (op === 'countDistinct')
    return count(`count(DISTINCT ${columnOf(source, builder, column, `${at}.column`, false).sql})`);
  const { sql, stored } = columnOf(source, builder, column, `${at}.column`, true);
  if (op === 'min' || op === 'max')
    return { sql: `${op}(${sql})`, show: stored.show, isText: stored.sql === 'VARCHAR' };
  if (stored.comparing !== 'number') {
    throw new QueryError(
      'request_validation_error',
      `${at}.column: ${op} is of numbers, and ${JSON.stringify(column)} has none (${as}).`,
    );
  }
  return { sql: op === 'sum' ? `fsum(${sql})` : `favg(${sql})`, show: stored.show, isText: false };
}

/** Which rows are shown at a version. */
export function compileShown(version: bigint): string {
  return `since <= ${version} AND until > ${version}`;
}

function compileWhere(query: RowsQuery, source: QuerySource, builder: Builder): string {
  const shown = compileShown(source.version);
  return query.filter === null
    ? shown
    : `${shown} AND ${compileCondition(query.filter, source, builder, `${query.prefix}filter`, false)}`;
}

/** `isNegated`: whether it stands below a `not`, where an empty cell must give false and not null. */
function compileCondition(
  condition: Condition,
  source: QuerySource,
  builder: Builder,
  at: string,
  isNegated: boolean,
): string {
  if ('not' in condition) return `(NOT ${compileCondition(condition.not, source, builder, `${at}.not`, true)})`;
  if ('and' in condition || 'or' in condition) {
    const [name, parts, empty] =
      'and' in condition ? (['and', condition.and, 'true'] as const) : (['or', condition.or, 'false'] as const);
    if (parts.length === 0) return empty;
    return `(${parts.map((part, n) => compileCondition(part, source, builder, `${at}.${name}[${n}]`, isNegated)).join(` ${name.toUpperCase()} `)})`;
  }
  const sql = compileComparison(condition, source, builder, at);
  return isNegated ? `coalesce(${sql}, false)` : sql;
}

const ordered: ReadonlySet<ComparisonOperator> = new Set(['lt', 'lte', 'gt', 'gte']);
const ofText: ReadonlySet<ComparisonOperator> = new Set(['contains', 'startsWith', 'endsWith']);
const signs: Readonly<Partial<Record<ComparisonOperator, string>>> = {
  eq: '=',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
};
const functionsOfText: Readonly<Partial<Record<ComparisonOperator, string>>> = {
  contains: 'contains',
  startsWith: 'starts_with',
  endsWith: 'ends_with',
};

function compileComparison(comparison: Comparison, source: QuerySource, builder: Builder, at: string): string {
  const { column, op, value, ignoreCase = false } = comparison;
  const { sql, type, stored } = columnOf(source, builder, column, `${at}.column`, false);
  const cannot = (): QueryError =>
    new QueryError(
      'request_validation_error',
      `${at}.op: ${op} has no meaning for ${JSON.stringify(column)}, which is ${type}`,
    );
  if (op === 'isEmpty' || op === 'isNotEmpty') return `(${sql} IS ${op === 'isEmpty' ? '' : 'NOT '}NULL)`;
  if (ordered.has(op) && (stored.comparing === 'equality' || stored.comparing === 'list')) throw cannot();
  if (op === 'in' && (stored.comparing === 'equality' || stored.comparing === 'list')) throw cannot();
  if (ofText.has(op)) {
    if (stored.comparing !== 'text' || column === rowId) throw cannot();
    if (typeof value !== 'string') throw invalid(comparison, `${at}.value`, 'is no text');
    const part = builder.add(value, VARCHAR);
    return ignoreCase
      ? `${functionsOfText[op]}(lower(${sql}), lower(${part}))`
      : `${functionsOfText[op]}(${sql}, ${part})`;
  }
  if (column === rowId && ordered.has(op)) throw cannot();

  const bind = (given: unknown, of: ColumnType, place: string): string => {
    const token = fitToken(JSON.stringify(given), of, false);
    if (token === undefined) throw invalid(comparison, place, `does not fit the column's type ${type}`);
    const stored = storedType(of);
    return builder.add(stored.of(JSON.parse(token)), stored.type);
  };
  if (op === 'has') {
    if (!isArrayType(type)) throw cannot();
    return `list_contains(${sql}, ${bind(value, itemKind(type), `${at}.value`)})`;
  }
  if (op === 'in') {
    const values = (value as readonly unknown[]).map((given, n) => bind(given, type, `${at}.value[${n}]`));
    return values.length === 0 ? 'false' : `(${sql} IN (${values.join(', ')}))`;
  }
  const bound = bind(value, type, `${at}.value`);
  // Not IS DISTINCT FROM: in a column that is all empty, the engine takes that beside OR for false.
  return op === 'ne' ? `coalesce(${sql} <> ${bound}, true)` : `(${sql} ${signs[op]} ${bound})`;
}

function invalid({ column }: Comparison, place: string, problem: string): QueryError {
  return new QueryError('column_has_invalid_value', `${place}: it ${problem} (column ${JSON.stringify(column)})`);
}

/**
 * A column with how it is stored. `reader`: the statement that reads it, if one does. `isOrdered`: it is sorted or
 * grouped by. Throws QueryError.
 */
function columnOf(
  source: QuerySource,
  reader: Builder | null,
  id: string,
  at: string,
  isOrdered: boolean,
): QueryColumn & { readonly stored: StoredType } {
  const column = id === rowId ? { sql: 'row_id', type: 'string' as const, part: 0 } : source.columns.get(id);
  if (column === undefined)
    throw new QueryError('column_id_not_found', `${at}: the table has no column ${JSON.stringify(id)}`);
  const stored = storedType(column.type);
  if (isOrdered && (stored.comparing === 'equality' || stored.comparing === 'list')) {
    throw new QueryError(
      'request_validation_error',
      `${at}: ${JSON.stringify(id)} is ${column.type}, whose values cannot be sorted, grouped, or compared by size`,
    );
  }
  reader?.read(column);
  return { ...column, stored };
}
