/** The columnar engine, DuckDB, in this process: locked down, within its bounds, on connections that are lent out one at a time. */
import { DuckDBInstance, VARCHAR, type DuckDBAppender, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { QueryError } from '../language/query-error.ts';
import type { SqlRequest } from '../protocol.ts';
import type { Sql } from './compile.ts';

export interface ColumnarOptions {
  /** Where copies are, and what does not fit its memory: the only files that it can open. */
  readonly folder: string;
  readonly memoryBytesMax: number;
  readonly diskBytesMax: number;
  readonly threads: number;
}

export interface SelectLimits {
  readonly signal: AbortSignal;
  readonly rowsMax: number;
  readonly bytesMax: number;
}

export interface SqlResult {
  readonly names: readonly string[];
  /** As DuckDB names them. */
  readonly types: readonly string[];
  readonly rows: readonly DuckDBValue[][];
}

export class Columnar {
  readonly #instance: DuckDBInstance;
  readonly #idle: DuckDBConnection[] = [];
  /** What ends each SELECT that runs. */
  readonly #selects = new Set<AbortController>();

  private constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  static async open({ folder, memoryBytesMax, diskBytesMax, threads }: ColumnarOptions): Promise<Columnar> {
    const instance = await DuckDBInstance.create(':memory:', {
      memory_limit: `${memoryBytesMax}B`, threads: String(threads), temp_directory: folder, max_temp_directory_size: `${diskBytesMax}B`,
      autoinstall_known_extensions: 'false', autoload_known_extensions: 'false', allow_community_extensions: 'false',
      // Bodies are fetched only for the rows of a page.
      late_materialization_max_rows: '10001',
    });
    const columnar = new Columnar(instance);
    // From now on nothing but the files of copies can be opened, and nothing of this can be changed.
    await columnar.run(`SET allowed_directories = ['${folder.replaceAll("'", "''")}']`);
    await columnar.run('SET enable_external_access = false');
    await columnar.run('SET lock_configuration = true');
    return columnar;
  }

  /** Runs a statement without a result. */
  async run(text: string, values: DuckDBValue[] = []): Promise<void> {
    await this.#with((connection) => connection.run(text, values));
  }

  /** The rows of a result. Rejects with the reason of the signal, and with QueryError `limit_exceeded` when it takes more memory than there is. */
  rows(sql: Sql, signal: AbortSignal): Promise<DuckDBValue[][]> {
    return this.#with(async (connection) => {
      signal.throwIfAborted();
      const interrupt = (): void => connection.interrupt();
      signal.addEventListener('abort', interrupt, { once: true });
      try {
        return (await connection.runAndReadAll(sql.text, sql.values, sql.types)).getRows();
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', interrupt);
      }
    });
  }

  /** The tree of a text of SQL, or why it is none: `{error, error_message}`. */
  async parse(text: string, signal: AbortSignal): Promise<Record<string, unknown>> {
    const [[json]] = await this.rows({ text: 'SELECT json_serialize_sql($1::VARCHAR)::VARCHAR', values: [text], types: [VARCHAR] }, signal) as [[string]];
    return parseExactly(json) as Record<string, unknown>;
  }

  /** The text of a tree. */
  async deparse(tree: Record<string, unknown>): Promise<string> {
    const sql = { text: 'SELECT json_deserialize_sql($1::VARCHAR::JSON)', values: [JSON.stringify(tree)], types: [VARCHAR] };
    const [[text]] = await this.rows(sql, new AbortController().signal) as [[string]];
    return text;
  }

  /**
   * Runs a SELECT on a connection of its own, with these views. Rejects as `rows` does, with QueryError `query_invalid` and the message of the engine, and with
   * `limit_exceeded` when the result has too many rows or bytes.
   */
  async select(text: string, views: readonly string[], parameters: SqlRequest['parameters'], { signal, rowsMax, bytesMax }: SelectLimits): Promise<SqlResult> {
    const connection = await this.#instance.connect();
    const ending = new AbortController();
    this.#selects.add(ending);
    const ended = AbortSignal.any([signal, ending.signal]);
    const interrupt = (): void => connection.interrupt();
    ended.addEventListener('abort', interrupt, { once: true });
    try {
      ended.throwIfAborted();
      for (const view of views) await connection.run(view);
      const result = await connection.stream(text, parameters as DuckDBValue[] | Record<string, DuckDBValue>);
      const rows: DuckDBValue[][] = [];
      let bytes = 0;
      for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
        for (const row of chunk.getRows()) {
          rows.push(row);
          bytes += row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);
        }
        if (rows.length > rowsMax || bytes > bytesMax) throw tooLarge(rowsMax, bytesMax);
      }
      return { names: result.columnNames(), types: result.columnTypes().map(String), rows };
    } catch (error) {
      ended.throwIfAborted();
      throw failureOfSql(error);
    } finally {
      this.#selects.delete(ending);
      ended.removeEventListener('abort', interrupt);
      connection.closeSync();
    }
  }

  /** Ends each SELECT that runs: one of them takes more memory than DuckDB knows. */
  endSelects(): void {
    for (const ending of this.#selects) ending.abort(tooMuchMemory());
  }

  /** Appends rows to a table. */
  append(catalog: string, table: string, write: (appender: DuckDBAppender) => Promise<void>): Promise<void> {
    return this.#with(async (connection) => {
      const appender = await connection.createAppender(table, 'main', catalog);
      try {
        await write(appender);
        appender.flushSync();
      } finally {
        appender.closeSync();
      }
    });
  }

  close(): void {
    for (const connection of this.#idle.splice(0)) connection.closeSync();
    this.#instance.closeSync();
  }

  async #with<T>(use: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = this.#idle.pop() ?? (await this.#instance.connect());
    try {
      const result = await use(connection);
      this.#idle.push(connection);
      return result;
    } catch (error) {
      connection.closeSync();
      throw failureOf(error);
    }
  }
}

/** Parses JSON so that `JSON.stringify` writes each number as it was, also those that a double cannot hold. */
function parseExactly(text: string): unknown {
  const keep = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown => {
    return typeof value === 'number' && !Number.isSafeInteger(value) ? (JSON as unknown as { rawJSON(source: string): unknown }).rawJSON(source!) : value;
  };
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

/** Errors of DuckDB have no codes, but the begin of their messages names their kind. */
export function failureOf(error: unknown): unknown {
  const { message } = error as Error;
  if (message.startsWith('Out of Memory Error')) return tooMuchMemory(error);
  if (message.startsWith('IO Error')) return new QueryError('service_unavailable', 'The query engine cannot use its disk now.', { cause: error });
  return error;
}

/** The same for SQL of a team, whose mistakes DuckDB finds: all but its own faults are those of the query. */
function failureOfSql(error: unknown): unknown {
  if (error instanceof QueryError || error instanceof TypeError) return error;
  const message = (error as Error).message.replace(/^Failed to [a-z ]+: /, '');
  if (/^(Out of Memory|IO|INTERNAL|FATAL) Error/.test(message)) return failureOf(new Error(message, { cause: error }));
  const told = message === 'Failed to retrieve bind parameter index' ? 'parameters: the query has no such parameter.' : message.split('\n\n')[0]!;
  return new QueryError('query_invalid', told, { cause: error });
}

function tooMuchMemory(cause?: unknown): QueryError {
  return new QueryError('limit_exceeded', 'The query takes more memory than a query may.', { cause });
}

export function tooLarge(rowsMax: number, bytesMax: number): QueryError {
  return new QueryError('limit_exceeded', `The answer has more than ${rowsMax} rows or ${bytesMax} bytes: ask for less, such as by LIMIT.`);
}
