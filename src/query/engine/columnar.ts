/** The columnar engine, DuckDB, in this process: locked down, within its bounds, on connections that are lent out one at a time. */
import { DuckDBInstance, type DuckDBAppender, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { QueryError } from '../language/query-error.ts';
import type { Sql } from './compile.ts';

export interface ColumnarOptions {
  /** Where copies are, and what does not fit its memory: the only files that it can open. */
  readonly folder: string;
  readonly memoryBytesMax: number;
  readonly diskBytesMax: number;
  readonly threads: number;
}

export class Columnar {
  readonly #instance: DuckDBInstance;
  readonly #idle: DuckDBConnection[] = [];

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

/** Errors of DuckDB have no codes, but the begin of their messages names their kind. */
function failureOf(error: unknown): unknown {
  const { message } = error as Error;
  if (message.startsWith('Out of Memory Error')) return new QueryError('limit_exceeded', 'The query takes more memory than a query may.', { cause: error });
  if (message.startsWith('IO Error')) return new QueryError('service_unavailable', 'The query engine cannot use its disk now.', { cause: error });
  return error;
}
