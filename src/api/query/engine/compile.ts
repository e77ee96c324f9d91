/**
 * Compiles queries to SQL of the columnar engine. Values of clients become parameters. Names of columns come from the
 * copy, never from the client.
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

/** A column of a copy, as queries refer to it. */
export interface QueryColumn extends Placed {
  readonly sql: string;
  readonly type: ColumnType;
}

/** The source of a query: a table of the engine with its parts, at one version. */
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

/** Limit of the bytes of the texts of a group. */
const groupBytesMax = 16 * 1024 * 1024;

/** The error that statements raise for a group that is too long. */
export const tooLong = 'The values of a group are larger than an answer may be.';

/** A range of row numbers of a copy: from `from` to before `to`. */
export interface Numbers {
  readonly from: bigint;
  readonly to: bigint;
}

/** The maximum bytes of a row of an export in addition to its body. */
const bytesBesideBody = 64;

const rowId = '$rowID';

/** Builds a statement: collects its parameters, and the columns that it reads. */
class Builder {
  readonly values: DuckDBValue[] = [];
  readonly types: DuckDBType[] = [];
  readonly #columns: Placed[] = [];

  add(value: DuckDBValue, type: DuckDBType): string {
    this.values.push(value);
    this.types.push(type);
    return `$${this.values.length}`;
  }

  /** Notes that the statement reads a column. */
  read(column: Placed): void {
    this.#columns.push(column);
  }

  /** The FROM of the statement. Call it after all columns were noted. */
  from({ from }: QuerySource): string {
    return withParts(from, this.#columns);
  }

  build(text: string): Sql {
    return { text, values: this.values, types: this.types };
  }
}

/** Selects the rows of a query, with the columns `row_id`, `row_version` and `body`. Throws QueryError. */
export function compileRows(query: RowsQuery, source: QuerySource, { offset, limit }: Slice): Sql {
  const builder = new Builder();
  const found = compileSortedRows(query, source, builder, shownColumns);
  return builder.build(
    `${found} LIMIT ${builder.add(BigInt(limit), BIGINT)} OFFSET ${builder.add(BigInt(offset), BIGINT)}`,
  );
}

/** Which rows of a source to read as text, and in which form. */
export interface TextRows {
  /** Null: all rows, of all versions. */
  readonly query: RowsQuery | null;
  readonly source: QuerySource;
  /** Whether the rows include `$version`. */
  readonly isVersioned: boolean;
  /** Returns whether the source stores its rows in the order of their numbers. */
  readonly isInOrder: () => boolean;
  /** The texts before and after each row. */
  readonly before: string;
  readonly behind: string;
  /** Whether `$rowID` precedes the object of a row instead of being in it, which takes much less time. */
  readonly hasIdBefore: boolean;
}

/** Selects the rows in a range of numbers, in order, as JSON like that of pages. */
export function compileText(
  { query, source, isVersioned, isInOrder, before, behind, hasIdBefore }: TextRows,
  numbers: Numbers,
): Sql {
  const builder = new Builder();
  const where = query === null ? 'true' : compileWhere(query, source, builder);
  const from = builder.from(source);
  // A join may change the order.
  const order = isInOrder() && from === source.from ? '' : ' ORDER BY n';
  const parts = [
    ...textIn(before),
    hasIdBefore && !isVersioned ? 'row_id, body' : objectWithId(isVersioned),
    ...textIn(behind),
  ];
  // `||` would copy each row once for each of its parts.
  const row = `concat(${parts.join(', ')})`;
  return builder.build(`SELECT ${row} FROM ${from} WHERE ${compileNumbers(numbers)} AND ${where}${order}`);
}

function textIn(text: string): string[] {
  return text === '' ? [] : [`'${text}'`];
}

/** The parts of a row's object, which begins with `$rowID`. */
function objectWithId(isVersioned: boolean): string {
  const version = isVersioned ? `, '","$version":"', row_version` : '';
  // Not `substr`, which would have to count characters.
  return `'{"$rowID":"', row_id${version}, CASE WHEN body = '{}' THEN '"}' ELSE '",' END, ltrim(nullif(body, '{}'), '{')`;
}

/**
 * Selects the rows of a query whose bodies are longer than `bytes`, as JSON with `$rowID`, each followed by a line
 * feed. Throws QueryError.
 */
export function compileLongRows(query: RowsQuery, source: QuerySource, bytes: number): Sql {
  const builder = new Builder();
  const where = compileWhere(query, source, builder);
  return builder.build(
    `SELECT concat(${objectWithId(false)}, chr(10)) FROM ${builder.from(source)} WHERE strlen(body) > ${bytes} AND ${where}`,
  );
}

/** Selects the sum of the bytes of the bodies in a range of row numbers. */
export function compileLength({ from }: QuerySource, numbers: Numbers): Sql {
  return new Builder().build(
    `SELECT coalesce(sum(strlen(body)), 0)::BIGINT FROM ${from} WHERE ${compileNumbers(numbers)}`,
  );
}

/** Selects the sum of the bytes of a query's rows, with an allowance for IDs and versions. Throws QueryError. */
export function compileBytes(query: RowsQuery, source: QuerySource): Sql {
  const builder = new Builder();
  const where = compileWhere(query, source, builder);
  return builder.build(
    `SELECT coalesce(sum(strlen(body) + ${bytesBesideBody}), 0)::BIGINT FROM ${builder.from(source)} WHERE ${where}`,
  );
}

/** Creates a table of the rows of a query, numbered in the query's order. Throws QueryError. */
export function compileSorted(query: RowsQuery, source: QuerySource, table: string): Sql {
  const builder = new Builder();
  return builder.build(
    `CREATE TABLE ${table} AS SELECT row_number() OVER () - 1 AS n, * FROM (${compileSortedRows(query, source, builder, shownColumns)})`,
  );
}

/** Selects the number of rows of a table. */
export function compileSize(table: string): Sql {
  return new Builder().build(`SELECT count(*) FROM ${table}`);
}

/** Matches a `dateTime` text with a zone, or a JSON array that contains one. */
const zonePattern = '[Tt ][0-9]{2}[^"]*(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)(?:"|$)';

/**
 * Selects, for each of these columns of moments, whether it has a value with a zone. It looks at all rows at the
 * version, whichever rows a query selects.
 */
export function compileZones({ from, version }: QuerySource, ids: readonly string[]): Sql {
  const found = ids
    .map((_, at) => `coalesce(bool_or(regexp_matches(cells[${at + 1}], '${zonePattern}')), false)`)
    .join(', ');
  return new Builder().build(
    `SELECT ${found} FROM (SELECT ${extracted('body', ids.map(pointerTo))} AS cells FROM ${from} WHERE ${compileShown(version)})`,
  );
}

/** The columns whose type does not determine whether values have a zone, for a Parquet file. */
export function momentsOf(ids: readonly string[], { columns }: QuerySource): string[] {
  return ids.filter((id) => {
    const column = columns.get(id);
    return column !== undefined && storedType(column.type).inZonedParquet !== null;
  });
}

/**
 * Writes the rows of a query to a Parquet file with these columns. `zoned` are the columns with zones (compileZones).
 * Throws QueryError.
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
  // The client's names are in an outer SELECT, so that expressions on the copy cannot refer to them.
  const named = namesInParquet(ids).map((name, at) => `o${at} AS "${name.replaceAll('"', '""')}"`);
  return builder.build(
    `COPY (SELECT ${named.join(', ')} FROM (${rows})) TO '${file.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRowsOf(ids.length)})`,
  );
}

/**
 * The names of columns in a Parquet file. Readers of Parquet do not distinguish `a` from `A`, so the later of two such
 * names gets a number that makes it unique.
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

/** The rows of a row group. A row group is in memory until it is written, so with more columns it has fewer rows. */
function rowGroupRowsOf(columns: number): number {
  return Math.max(Math.floor(30 * Math.min(100 / columns, 1)), 1) * 2048;
}

/** A column in its Parquet type. `isZoned`: its moments are adjusted to UTC. */
function inParquet({ sql, stored }: ReturnType<typeof columnOf>, isZoned: boolean): string {
  const convert = isZoned ? stored.inZonedParquet : stored.inParquet;
  return convert?.(sql) ?? sql;
}

/** The columns of a row in an answer. */
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

/** Selects the number of rows that match the filter. Throws QueryError. */
export function compileCount(query: RowsQuery, source: QuerySource): Sql {
  const builder = new Builder();
  const where = compileWhere(query, source, builder);
  return builder.build(`SELECT count(*) FROM ${builder.from(source)} WHERE ${where}`);
}

/** A column of a query's groups: its name in the answer, and how to show its values. */
export interface GroupColumn {
  readonly name: string;
  readonly show: StoredType['show'];
}

/** Selects the groups of a query, with one column for each of `columns`. Throws QueryError. */
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
  // Groups are distinct, so this order is total.
  const order = [...sort, ...groups.map((_, at) => `o${at} ASC NULLS LAST`)];
  const range = `LIMIT ${builder.add(BigInt(limit), BIGINT)} OFFSET ${builder.add(BigInt(offset), BIGINT)}`;
  const found = `SELECT ${outputs} FROM ${builder.from(source)} WHERE ${where}${grouping}${order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`} ${range}`;
  // Measure texts before they become values of this process.
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
      `${at}.column: ${op} needs a number column, but ${JSON.stringify(column)} is not one (aggregate ${as}).`,
    );
  }
  return { sql: op === 'sum' ? `fsum(${sql})` : `favg(${sql})`, show: stored.show, isText: false };
}

/** The condition for the rows of a version. */
export function compileShown(version: bigint): string {
  return `since <= ${version} AND until > ${version}`;
}

function compileWhere(query: RowsQuery, source: QuerySource, builder: Builder): string {
  const shown = compileShown(source.version);
  return query.filter === null
    ? shown
    : `${shown} AND ${compileCondition(query.filter, source, builder, `${query.prefix}filter`, false)}`;
}

/** `isNegated`: whether the condition is within a `not`, where an empty cell must give false and not null. */
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
    if (typeof value !== 'string') throw invalid(comparison, `${at}.value`, 'is not a text');
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
  // Not IS DISTINCT FROM: in a column that is all empty, the engine evaluates that to false within an OR.
  return op === 'ne' ? `coalesce(${sql} <> ${bound}, true)` : `(${sql} ${signs[op]} ${bound})`;
}

function invalid({ column }: Comparison, place: string, problem: string): QueryError {
  return new QueryError('column_has_invalid_value', `${place}: it ${problem} (column ${JSON.stringify(column)})`);
}

/**
 * Finds a column and its stored type. `reader` is the statement that reads the column, if one does. `isOrdered`:
 * whether the query sorts or groups by it, or compares it by size. Throws QueryError.
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
