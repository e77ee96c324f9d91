/**
 * The columnar engine, DuckDB, in this process: locked down, within its bounds, on connections that are lent out one at
 * a time.
 */
import {
  DuckDBInstance,
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBValue,
} from '@duckdb/node-api';
import { QueryError } from '../language/query-error.ts';
import { tooLong, type Sql } from './compile.ts';
import { eachRun } from './text-runs.ts';

interface ColumnarOptions {
  /** Where copies are, and what does not fit its memory: the only files that it can open. */
  readonly folder: string;
  readonly memoryBytesMax: number;
  readonly diskBytesMax: number;
  readonly threads: number;
  /**
   * Called when the process has to end, because nothing else helps: work goes on though it was interrupted, or the
   * allocator has nothing left.
   */
  readonly onEnd: (reason: string) => void;
}

/** How often work is interrupted until it ends, and how many times at most. */
const interruptEveryMs = 100;
const interruptsMax = 50;

/**
 * What a statement gives. Values leave garbage that is collected when the statement ends; texts are so large that it is
 * collected while they are read.
 */
type Results = 'values' | 'texts' | 'nothing';

/** So many bytes of texts are read between two collections. */
const uncollectedBytesMax = 8 * 1024 * 1024;

/** A query that went on when it was interrupted, so that the process has to end. */
export class StuckQuery extends QueryError {
  constructor() {
    super('query_timeout', 'The query took longer than it may, and could not be interrupted.');
  }
}

export class Columnar {
  readonly #instance: DuckDBInstance;
  readonly #idle: DuckDBConnection[] = [];
  readonly #onEnd: (reason: string) => void;
  /** How many connections are lent out. */
  #used = 0;
  #isEnding = false;
  /** Resolves when the last change in a queue has ended, by queue. */
  readonly #queues = new Map<string, Promise<unknown>>();
  /** How many bytes of texts were read since garbage was collected. */
  #uncollectedBytes = 0;

  private constructor(instance: DuckDBInstance, onEnd: (reason: string) => void) {
    this.#instance = instance;
    this.#onEnd = onEnd;
  }

  static async open({ folder, memoryBytesMax, diskBytesMax, threads, onEnd }: ColumnarOptions): Promise<Columnar> {
    const instance = await DuckDBInstance.create(':memory:', {
      memory_limit: `${memoryBytesMax}B`,
      threads: String(threads),
      temp_directory: folder,
      max_temp_directory_size: `${diskBytesMax}B`,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      allow_community_extensions: 'false',
      // What is freed goes back to the system at once, or the process would keep the most that it ever had.
      allocator_flush_threshold: '16MB',
      allocator_bulk_deallocation_flush_threshold: '32MB',
      allocator_background_threads: 'true',
      // Bodies are fetched only for the rows of a page.
      late_materialization_max_rows: '10001',
    });
    const columnar = new Columnar(instance, onEnd);
    // From now on nothing but the files of copies can be opened, and nothing of this can be changed.
    await columnar.run(`SET allowed_directories = ['${folder.replaceAll("'", "''")}']`);
    await columnar.run('SET enable_external_access = false');
    await columnar.run('SET lock_configuration = true');
    return columnar;
  }

  /** Runs a statement without a result. */
  async run(text: string, values: DuckDBValue[] = []): Promise<void> {
    await this.#with((connection) => connection.run(text, values), 'nothing');
  }

  /**
   * The rows of a result. Rejects with the reason of the signal, and with QueryError when there is too little memory or
   * room on the disk.
   */
  rows({ text, values, types }: Sql, signal: AbortSignal): Promise<DuckDBValue[][]> {
    return this.use(signal, async (connection) => {
      // A statement with parameters is planned twice, without their values and with them.
      const reader = await (values.length === 0
        ? connection.runAndReadAll(text)
        : connection.runAndReadAll(text, values, types));
      return reader.getRows();
    });
  }

  /**
   * Calls `take` with the texts of a result that has one column, one behind the other: the bytes of some of them at a
   * time, which are valid until it returns. The result is made while it is read, and is never in memory as a whole.
   * Rejects as `rows` does.
   */
  texts({ text, values, types }: Sql, signal: AbortSignal, take: (texts: Buffer) => void): Promise<void> {
    return this.use(
      signal,
      async (connection) => {
        const result = await (values.length === 0 ? connection.stream(text) : connection.stream(text, values, types));
        let next = result.fetchChunk();
        try {
          for (let chunk = await next; chunk !== null && chunk.rowCount > 0; chunk = await next) {
            // The engine makes the next one while this is taken.
            next = result.fetchChunk();
            let bytes = 0;
            eachRun(chunk, (texts) => {
              bytes += texts.length;
              take(texts);
            });
            this.#collectTexts(bytes);
          }
        } finally {
          // A connection that is at work cannot be closed.
          await Promise.allSettled([next]);
        }
      },
      'texts',
    );
  }

  /** Lends a connection to work that the signal interrupts. Rejects as `rows` does. */
  use<T>(
    signal: AbortSignal,
    work: (connection: DuckDBConnection) => Promise<T>,
    results: Results = 'values',
  ): Promise<T> {
    return this.#with(async (connection) => {
      signal.throwIfAborted();
      // One that comes between two steps of a statement is lost.
      let again: NodeJS.Timeout | undefined;
      let left = interruptsMax;
      const stuck = Promise.withResolvers<never>();
      const interrupt = (): void => {
        connection.interrupt();
        again ??= setInterval(interrupt, interruptEveryMs);
        left -= 1;
        if (left > 0) return;
        this.#end('a query cannot be interrupted');
        stuck.reject(new StuckQuery());
      };
      signal.addEventListener('abort', interrupt, { once: true });
      try {
        return await Promise.race([work(connection), stuck.promise]);
      } catch (error) {
        if (!(error instanceof StuckQuery)) signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', interrupt);
        clearInterval(again);
      }
    }, results);
  }

  /**
   * Changes copies in one transaction. Queries that run meanwhile see nothing of it. Added rows go to disk once, in
   * whole row groups, and not to a log first. If `work` rejects, nothing has changed. Of changes with the same `queue`
   * there is one at a time; null: it waits for no other.
   */
  async change<T>(queue: string | null, work: (change: ColumnarChange) => Promise<T>): Promise<T> {
    if (queue === null) return this.#change(work);
    const changed = (this.#queues.get(queue) ?? Promise.resolve()).then(() => this.#change(work));
    this.#queues.set(
      queue,
      changed.catch(() => undefined),
    );
    return changed;
  }

  #change<T>(work: (change: ColumnarChange) => Promise<T>): Promise<T> {
    return this.#with(async (connection) => {
      const change = new ColumnarChange(connection);
      try {
        const result = await work(change);
        await change.commit();
        return result;
      } finally {
        change.close();
      }
    }, 'nothing');
  }

  close(): void {
    for (const connection of this.#idle.splice(0)) connection.closeSync();
    this.#instance.closeSync();
  }

  #end(reason: string): void {
    if (!this.#isEnding) this.#onEnd(reason);
    this.#isEnding = true;
  }

  /**
   * Texts that were read count as memory of this process: if many waited for a collection, that would be one of the
   * whole heap.
   */
  #collectTexts(bytes: number): void {
    this.#uncollectedBytes += bytes;
    if (this.#uncollectedBytes < uncollectedBytesMax) return;
    this.#uncollectedBytes = 0;
    globalThis.gc?.({ type: 'minor' });
  }

  async #with<T>(use: (connection: DuckDBConnection) => Promise<T>, results: Results = 'values'): Promise<T> {
    if (this.#isEnding) throw new QueryError('service_unavailable', 'The query engine starts anew. Ask again.');
    this.#used += 1;
    let garbage: 'minor' | 'major' | null = results === 'values' ? 'minor' : null;
    try {
      const connection = this.#idle.pop() ?? (await this.#instance.connect());
      try {
        const result = await use(connection);
        this.#idle.push(connection);
        return result;
      } catch (error) {
        // One that is at work cannot be closed.
        if (!this.#isEnding) connection.closeSync();
        // A mistake in a query holds nothing.
        if (!(error instanceof QueryError && error.type === 'query_invalid')) garbage = 'major';
        if (isExhausted(error)) this.#end('the process has no memory left');
        throw failureOf(error, this.#used > 1);
      }
    } finally {
      this.#used -= 1;
      // What results hold outside of the heap is freed with them, and the collector does not know how much that is.
      if (garbage !== null) globalThis.gc?.({ type: garbage });
    }
  }
}

/** A transaction on copies. */
export class ColumnarChange {
  readonly #connection: DuckDBConnection;
  readonly #statements: DuckDBPreparedStatement[] = [];
  /**
   * What is to run before the next statement that has a result: each call of DuckDB is a trip to another thread, which
   * takes longer than a small statement.
   */
  readonly #waiting = ['BEGIN'];

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /**
   * Runs a statement without a result, at the latest when the change is committed, which then rejects if the statement
   * fails.
   */
  run(text: string): void {
    this.#waiting.push(text);
  }

  /** The rows of a result. */
  async rows(text: string, values?: DuckDBValue[]): Promise<DuckDBValue[][]> {
    return (await this.#connection.runAndReadAll(this.#take(text), values)).getRows();
  }

  /**
   * Statements with the same parameters, which are run several times, one after the other, until the change ends. Each
   * time, values are copied at once.
   */
  async prepare(texts: readonly string[]): Promise<(values: readonly Uint8Array[]) => Promise<void>> {
    // They may be about what these make.
    await this.#connection.run(this.#take());
    const statements: DuckDBPreparedStatement[] = [];
    for (const text of texts) {
      const statement = await this.#connection.prepare(text);
      statements.push(statement);
      this.#statements.push(statement);
    }
    return async (values) => {
      for (const statement of statements) for (const [at, value] of values.entries()) statement.bindBlob(at + 1, value);
      for (const statement of statements) await statement.run();
    };
  }

  async commit(): Promise<void> {
    await this.#connection.run(this.#take('COMMIT'));
  }

  #take(...last: string[]): string {
    return [...this.#waiting.splice(0), ...last].join(';\n');
  }

  /** Frees what the change has taken. */
  close(): void {
    for (const statement of this.#statements) statement.destroySync();
  }
}

/** Errors of DuckDB have no codes, but the begin of their messages names their kind. */
function failureOf(error: unknown, isShared: boolean): unknown {
  const { message } = error as Error;
  if (isMemory(error)) {
    const what = message.includes('max_temp_directory_size') ? 'room on the disk' : 'memory';
    // The memory is that of all queries, so which one takes too much is known only of one that is alone.
    return isShared
      ? new QueryError('service_unavailable', `There is too little ${what} for the query now, beside others.`, {
          cause: error,
        })
      : new QueryError('limit_exceeded', `The query takes more ${what} than a query may.`, { cause: error });
  }
  if (message.includes(tooLong)) return new QueryError('limit_exceeded', tooLong, { cause: error });
  if (message.startsWith('IO Error'))
    return new QueryError('service_unavailable', 'The query engine cannot use its disk now.', { cause: error });
  return error;
}

/**
 * DuckDB has no memory any more, or the process has none. While a change is committed it says so behind another kind.
 */
function isMemory(error: unknown): boolean {
  return /^Out of Memory Error|could not allocate block|failed to (?:pin block|allocate data|offload data)|bad[ _]alloc|^(?:[A-Za-z]+ Error: )?(?:Failed to commit: )?Allocation failure/.test(
    (error as Error).message,
  );
}

/** Not even a small block could be had: the allocator keeps what it has, so it stays so. */
function isExhausted(error: unknown): boolean {
  return /^(?:Out of Memory Error: )?Failed to allocate block of \d{1,6} bytes \(bad allocation\)|bad_alloc|Allocation failure/.test(
    (error as Error).message,
  );
}
