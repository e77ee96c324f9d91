/** Answers SQL: one SELECT over tables of a team, all at one moment. */
import {
  DuckDBTypeId,
  StatementType,
  VARCHAR,
  type DuckDBConnection,
  type DuckDBListValue,
  type DuckDBPreparedStatement,
} from '@duckdb/node-api';
import type { CopyQueries } from '../../../../projections/tables/copies.queries.ts';
import { DelimitedRowWriter } from '../../../language/formats/delimited-row-writer.ts';
import { TimeSlices } from '../../../language/time-slices.ts';
import { QueryError } from '../language/query-error.ts';
import type { SqlRequest } from '../protocol.ts';
import { checkSql } from '../sql/check-sql.ts';
import { compileSql, type SqlTable } from '../sql/compile-sql.ts';
import type { SqlParameter } from '../sql/literals.ts';
import { beyondBound } from '../sql/guarded-call.ts';
import { functions, sqlOperators, tableFunctions } from '../sql/functions.ts';
import { didYouMean, messageOf, shorten } from '../sql/mistakes.ts';
import { decodeName, encodeName } from '../sql/names.ts';
import { parseTree, type SqlNode } from '../sql/node.ts';
import { StuckQuery, type Columnar } from './columnar.ts';
import { compileShown, type QuerySource } from './compile.ts';
import type { Copies } from './copies.ts';
import { withQueryTimeout } from './query-timeout.ts';
import { withParts } from './parts.ts';
import type { SqlMemory } from './sql-memory.ts';
import { storedType } from './stored-type.ts';
import { hasUnnamed, sqlColumn, textTooLong, type SqlColumn } from './sql-columns.ts';

interface SqlAnswer {
  readonly body: Buffer;
  readonly isCold: boolean;
}

interface SqlAnswererOptions {
  readonly copies: Copies;
  readonly columnar: Columnar;
  readonly queries: CopyQueries;
  readonly timeoutMs: number;
  /** Called with the team whose query could not be interrupted. */
  readonly onStuck: (teamId: string) => void;
  readonly memory: SqlMemory;
}

/** Limits of an answer. */
const rowsMax = 100_000;
const columnsMax = 1000;
const bytesMax = 16 * 1024 * 1024;

/** Limit of the column types of an answer as the engine writes them, in bytes. */
const typesBytesMax = 128 * 1024;

/** Limit of the syntax tree of a query as JSON, in bytes. */
const treeBytesMax = 2 * 1024 * 1024;

export class SqlAnswerer {
  readonly #options: SqlAnswererOptions;

  constructor(options: SqlAnswererOptions) {
    this.#options = options;
  }

  /** Answers SQL. Rejects with QueryError, and with the reason of `gone`, which aborts when nobody waits any more. */
  async answer(request: SqlRequest, gone: AbortSignal): Promise<SqlAnswer> {
    try {
      return await this.#answer(request, gone);
    } catch (error) {
      throw error instanceof QueryError ? new QueryError(error.type, shorten(error.message), { cause: error }) : error;
    }
  }

  async #answer(request: SqlRequest, gone: AbortSignal): Promise<SqlAnswer> {
    const { columnar, copies, timeoutMs, memory } = this.#options;
    const tree = await withQueryTimeout(timeoutMs, gone, (signal) => this.#parse(request.sql, signal));
    const parameters = new Map(
      Array.isArray(request.parameters)
        ? request.parameters.map((value: SqlParameter, at): [string, SqlParameter] => [String(at + 1), value])
        : Object.entries(request.parameters),
    );
    const ids = await this.#resolve(request, tablesOf(tree, parameters));
    const tableIds = [...new Set(ids.values())];
    const held = tableIds.length === 0 ? [] : await copies.take(request, tableIds, gone);
    try {
      const sources = new Map(held.map(({ copy, version }) => [copy.tableId, sourceOf(copy.at(version))]));
      const text = compileSql(tree, { table: (name) => sources.get(ids.get(name)!)!, parameters });
      const catalogs = new Set(held.map(({ copy }) => copy.catalog));
      const { columns, rows } = await memory.run(gone, (wanted) =>
        withQueryTimeout(timeoutMs, wanted, (signal) =>
          columnar.use(signal, async (connection) => {
            try {
              return await select(connection, text, catalogs, request.format, signal);
            } catch (error) {
              throw mistakeOf(
                error,
                request.sql,
                new Set(
                  held.flatMap(({ copy, version }) => ['$rowID', '$version', ...copy.at(version).columns.keys()]),
                ),
              );
            }
          }),
        ),
      );
      const versions = Object.fromEntries(held.map(({ copy, version }) => [copy.tableId, String(version)]));
      const body =
        request.format === 'csv'
          ? rows
          : Buffer.from(
              `{"data":[${rows}],"columns":${JSON.stringify(columns)},"versions":${JSON.stringify(versions)}}`,
            );
      return { body, isCold: held.some(({ isCold }) => isCold) };
    } catch (error) {
      if (error instanceof StuckQuery) this.#options.onStuck(request.teamId);
      throw error;
    } finally {
      for (const { release } of held) release();
    }
  }

  async #parse(sql: string, signal: AbortSignal): Promise<SqlNode> {
    checkSql(sql);
    const text = `SELECT CASE WHEN strlen(tree) <= ${treeBytesMax} THEN tree END FROM (SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR) AS tree)`;
    const [[json]] = (await this.#options.columnar.rows({ text, values: [sql], types: [VARCHAR] }, signal)) as [
      [string | null],
    ];
    if (json === null) throw new QueryError('limit_exceeded', 'sql: has too many parts.');
    const tree = parseTree(json);
    if (tree['error'] === true) throw new QueryError('query_invalid', messageOf(String(tree['error_message']), sql));
    return tree;
  }

  /**
   * The IDs of the tables that the query names. Rejects with QueryError if one is missing, or if the team is suspended.
   */
  async #resolve({ teamId, appId }: SqlRequest, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { isSuspended, tables } = await this.#options.queries.tablesNamed(teamId, appId, names);
    if (isSuspended) throw new QueryError('payment_required', 'The team is suspended.');
    const missing = names.find((name) => !tables.has(name));
    if (missing !== undefined) {
      const alike = await this.#options.queries.tableAlike(teamId, appId, missing);
      throw new QueryError(
        'query_invalid',
        `There is no table ${JSON.stringify(missing)}${didYouMean(missing, alike)}`,
      );
    }
    return new Map(
      names.map((name) => {
        const [id, ...others] = tables.get(name)!;
        if (others.length > 0)
          throw new QueryError(
            'query_invalid',
            `Several tables have the name ${JSON.stringify(name)}: name the table by its ID.`,
          );
        return [name, id!];
      }),
    );
  }
}

/** The names of the tables in a query. Throws QueryError if the query is not allowed. */
function tablesOf(tree: SqlNode, parameters: ReadonlyMap<string, SqlParameter>): string[] {
  const names = new Set<string>();
  compileSql(tree, {
    table: (name) => {
      names.add(name);
      return { text: '', columns: [] };
    },
    parameters,
  });
  return [...names];
}

/**
 * A copy at a version as a subquery with the columns named by their IDs. The names are in an outer SELECT, so that
 * expressions on the copy cannot refer to them.
 */
function sourceOf({ from, version, columns }: QuerySource): SqlTable {
  const items = [...columns].map(([id, { sql, type }]) => [storedType(type).inSql?.(sql) ?? sql, id]);
  const all = [...items, ['row_id', '$rowID'], ['row_version', '$version']];
  const read = all.map(([text], at) => `${text} AS o${at}`);
  const named = all.map(([, id], at) => `o${at} AS "${encodeName(id!)}"`);
  const shown = `SELECT ${read.join(', ')} FROM ${withParts(from, columns.values())} WHERE ${compileShown(version)}`;
  return { text: `(SELECT ${named.join(', ')} FROM (${shown}))`, columns: [...columns.keys(), '$rowID', '$version'] };
}

/** Runs a compiled query. Resolves to its columns, and to its rows as JSON or as CSV with a header. */
async function select(
  connection: DuckDBConnection,
  text: string,
  catalogs: ReadonlySet<string>,
  format: SqlRequest['format'],
  signal: AbortSignal,
): Promise<{ readonly columns: readonly { readonly name: string; readonly type: unknown }[]; readonly rows: Buffer }> {
  const columns = await columnsOf(connection, text);
  const places = columns.map((_, at) => `o${at}`);
  const outer = `SELECT ${columns.map(({ select: selected }, at) => selected(places[at]!)).join(', ')} FROM (${text}) AS q (${places.join(', ')})`;
  await checkText(connection, outer, catalogs);
  const statements = await connection.extractStatements(outer);
  if (statements.count !== 1) throw new Error('the compiled text of a query has several statements');
  const statement = await statements.prepare(0);
  try {
    if (statement.statementType !== StatementType.SELECT)
      throw new Error('the compiled text of a query is not a SELECT');
    const result = await statement.stream();
    const rows =
      format === 'csv'
        ? new DelimitedRowWriter(
            ',',
            columns.map(({ name, isJson }) => ({ id: name, isJson })),
          )
        : new JsonRowsWriter();
    const keys = columns.map(({ name }) => JSON.stringify(name));
    const slices = new TimeSlices();
    let count = 0;
    for (
      let chunk = await result.fetchChunk();
      chunk !== null && chunk.rowCount > 0;
      chunk = await result.fetchChunk()
    ) {
      const vectors = columns.map((_, at) => chunk!.getColumnVector(at));
      for (let row = 0; row < chunk.rowCount; row += 1) {
        const members = columns.map(({ show }, at) => {
          const value = vectors[at]!.getItem(row);
          return `${keys[at]}:${value === null ? 'null' : show(value)}`;
        });
        rows.add(Buffer.from(`{${members.join(',')}}`));
        count += 1;
        if (count > rowsMax || rows.length > bytesMax)
          throw new QueryError(
            'limit_exceeded',
            `The answer has more than ${rowsMax} rows or ${bytesMax} bytes: select less, for example with LIMIT.`,
          );
        if (slices.isOver) await slices.next();
      }
      signal.throwIfAborted();
    }
    return { columns: columns.map(({ name, type }) => ({ name, type })), rows: rows.take() };
  } finally {
    statement.destroySync();
  }
}

type ResultColumn = SqlColumn & { readonly name: string };

async function columnsOf(connection: DuckDBConnection, text: string): Promise<ResultColumn[]> {
  const statement = await connection.prepare(text);
  try {
    if (statement.columnCount > columnsMax)
      throw new QueryError('limit_exceeded', `The answer has more than ${columnsMax} columns.`);
    await checkTypes(connection, statement, text);
    const taken = new Map<string, number>();
    return Array.from({ length: statement.columnCount }, (_, at) => {
      const type = statement.columnType(at);
      if (hasUnnamed(type))
        throw new QueryError('query_invalid', "The members of a row in the answer must have names, as in {'x': 1}.");
      return { name: uniqueName(decodeName(statement.columnName(at)), taken), ...sqlColumn(type) };
    });
  } finally {
    statement.destroySync();
  }
}

const nestedTypes: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.STRUCT,
  DuckDBTypeId.LIST,
  DuckDBTypeId.ARRAY,
  DuckDBTypeId.MAP,
  DuckDBTypeId.UNION,
]);

/**
 * Refuses large column types. In the heap types are trees, and may be much larger than in the engine, so measure them
 * first.
 */
async function checkTypes(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  text: string,
): Promise<void> {
  const isNested = Array.from({ length: statement.columnCount }, (_, at) => statement.columnTypeId(at)).some((id) =>
    nestedTypes.has(id),
  );
  if (!isNested) return;
  const [[bytes]] = (
    await connection.runAndReadAll(`SELECT sum(strlen(column_type))::BIGINT FROM (DESCRIBE ${text})`)
  ).getRows() as [[bigint]];
  if (bytes > typesBytesMax) throw new QueryError('limit_exceeded', 'The rows in the answer have too many members.');
}

/** A name that no earlier column has. `taken` counts the columns with each name. */
function uniqueName(name: string, taken: Map<string, number>): string {
  const before = taken.get(name) ?? 0;
  taken.set(name, before + 1);
  return before === 0 ? name : uniqueName(`${name}_${before}`, taken);
}

/** Rows as JSON, with commas between them. */
class JsonRowsWriter {
  readonly #rows: Buffer[] = [];
  length = 0;

  add(row: Buffer): void {
    if (this.#rows.length > 0) this.#rows.push(comma);
    this.#rows.push(row);
    this.length += row.length;
  }

  take(): Buffer {
    return Buffer.concat(this.#rows);
  }
}

const comma = Buffer.from(',');

/**
 * Checks that the compiled text reads only these copies and common table expressions, and uses only allowed functions.
 * The compiler writes nothing else, but this asks the engine how it understands the text.
 */
async function checkText(connection: DuckDBConnection, text: string, catalogs: ReadonlySet<string>): Promise<void> {
  const members = ['table_name', 'catalog_name', 'schema_name', 'function_name', 'show_type'];
  const asked = `SELECT json_array_length(tree, '$.statements'), ${members.map((member) => `list_distinct(json_extract_string(tree, '$..${member}'))`).join(', ')}
    FROM (SELECT json_serialize_sql(CAST($1 AS VARCHAR)) AS tree)`;
  const [[statements, ...found]] = (await connection.runAndReadAll(asked, [text], [VARCHAR])).getRows() as [
    [bigint, ...DuckDBListValue[]],
  ];
  const [tables, catalogsFound, schemas, functionsFound, shows] = found.map(({ items }) => items as string[]);
  const isGood =
    statements === 1n &&
    shows!.length === 0 &&
    tables!.every((name) => /^(?:rows(?:_\d+)?|w\d+)$/.test(name)) &&
    catalogsFound!.every((name) => name === '' || catalogs.has(name)) &&
    schemas!.every((name) => name === '' || name === 'main') &&
    functionsFound!.every((name) => functions.has(name) || sqlOperators.has(name) || tableFunctions.has(name));
  if (!isGood) throw new Error('the compiled text of a query contains more than the compiler may write');
}

/** Kinds of engine errors that are faults of the service and not of the query. */
const ownFaults: ReadonlySet<string> = new Set([
  'Out of Memory',
  'IO',
  'INTERNAL',
  'FATAL',
  'INTERRUPT',
  'TransactionContext',
]);

/** Converts an error of the engine to a QueryError if the query is at fault. Returns other errors as they are. */
function mistakeOf(error: unknown, sql: string, columns: ReadonlySet<string>): unknown {
  const message = (error as Error).message.replace(/^Failed to extract statements: /, '');
  if (message.includes(textTooLong)) return new QueryError('limit_exceeded', textTooLong, { cause: error });
  const bound = beyondBound(message);
  if (bound !== null) return new QueryError('limit_exceeded', bound, { cause: error });
  const kind = /^([A-Z][A-Za-z ]*) Error: /.exec(message)?.[1];
  if (kind === undefined || ownFaults.has(kind)) return error;
  return new QueryError('query_invalid', messageOf(message, sql, columns), { cause: error });
}
