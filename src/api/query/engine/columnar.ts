/**
 * The columnar engine: DuckDB in this process, locked down and within its limits. A connection is lent to one task at a
 * time.
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
  /** The folder of copies and of spilled data. DuckDB can open no other files. */
  readonly folder: string;
  readonly memoryBytesMax: number;
  readonly diskBytesMax: number;
  readonly threads: number;
  /**
   * Called when the process must end, because work continues although it was interrupted, or because the allocator has
   * no memory left.
   */
  readonly onEnd: (reason: string) => void;
}

/** The interval between attempts to interrupt work, in milliseconds, and their maximum number. */
const interruptEveryMs = 100;
const interruptsMax = 50;

/**
 * The kind of a statement's results. The garbage of values is collected when the statement ends. Texts are so large
 * that their garbage is collected while they are read.
 */
type Results = 'values' | 'texts' | 'nothing';

/** How many bytes of texts are read between two collections of garbage. */
const uncollectedBytesMax = 8 * 1024 * 1024;

/** A query that continued although it was interrupted, so that the process must end. */
export class StuckQuery extends QueryError {
  constructor() {
    super('query_timeout', 'The query exceeded its time limit and could not be interrupted.');
  }
}

export class Columnar {
  readonly #instance: DuckDBInstance;
  readonly #idle: DuckDBConnection[] = [];
  readonly #onEnd: (reason: string) => void;
  /** How many connections are lent. */
  #used = 0;
  #isEnding = false;
  /** For each queue, a promise that resolves when its last change has ended. */
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
      // Return freed memory to the system at once. Otherwise the process would keep the most that it ever used.
      allocator_flush_threshold: '16MB',
      allocator_bulk_deallocation_flush_threshold: '32MB',
      allocator_background_threads: 'true',
      // Fetch bodies only for the rows of a page.
      late_materialization_max_rows: '10001',
    });
    const columnar = new Columnar(instance, onEnd);
    // From now on only files in the folder can be opened, and these settings cannot be changed.
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
   * Resolves to the rows of a result. Rejects with the reason of the signal, and with QueryError when there is too
   * little memory or disk space.
   */
  rows({ text, values, types }: Sql, signal: AbortSignal): Promise<DuckDBValue[][]> {
    return this.use(signal, async (connection) => {
      // A statement with parameters would be planned twice, without their values and with them, so use the plain call
      // if there are none.
      const reader = await (values.length === 0
        ? connection.runAndReadAll(text)
        : connection.runAndReadAll(text, values, types));
      return reader.getRows();
    });
  }

  /**
   * Calls `take` with the texts of a result of one column, in order, several at a time. The bytes are valid until
   * `take` returns. The result is produced while it is read, and is never in memory as a whole. Rejects as `rows` does.
   */
  texts({ text, values, types }: Sql, signal: AbortSignal, take: (texts: Buffer) => void): Promise<void> {
    return this.use(
      signal,
      async (connection) => {
        const result = await (values.length === 0 ? connection.stream(text) : connection.stream(text, values, types));
        let next = result.fetchChunk();
        try {
          for (let chunk = await next; chunk !== null && chunk.rowCount > 0; chunk = await next) {
            // The engine produces the next chunk while this one is taken.
            next = result.fetchChunk();
            let bytes = 0;
            eachRun(chunk, (texts) => {
              bytes += texts.length;
              take(texts);
            });
            this.#collectTexts(bytes);
          }
        } finally {
          // A busy connection cannot be closed.
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
      // An interrupt between two steps of a statement is lost, so repeat it.
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
   * Changes copies in one transaction. Queries that run meanwhile do not see the change. Added rows are written to disk
   * once, in whole row groups, without a log. If `work` rejects, nothing has changed. Changes with the same `queue` run
   * one at a time; null: the change waits for no other.
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
   * Collects the garbage of texts after some bytes. V8 counts them as external memory: if too many were waiting, it
   * would collect the whole heap.
   */
  #collectTexts(bytes: number): void {
    this.#uncollectedBytes += bytes;
    if (this.#uncollectedBytes < uncollectedBytesMax) return;
    this.#uncollectedBytes = 0;
    globalThis.gc?.({ type: 'minor' });
  }

  async #with<T>(use: (connection: DuckDBConnection) => Promise<T>, results: Results = 'values'): Promise<T> {
    if (this.#isEnding) throw new QueryError('service_unavailable', 'The query engine is restarting. Try again.');
    this.#used += 1;
    let garbage: 'minor' | 'major' | null = results === 'values' ? 'minor' : null;
    try {
      const connection = this.#idle.pop() ?? (await this.#instance.connect());
      try {
        const result = await use(connection);
        this.#idle.push(connection);
        return result;
      } catch (error) {
        // A busy connection cannot be closed.
        if (!this.#isEnding) connection.closeSync();
        // A mistake in a query leaves no memory to free.
        if (!(error instanceof QueryError && error.type === 'query_invalid')) garbage = 'major';
        if (isExhausted(error)) this.#end('the process has no memory left');
        throw failureOf(error, this.#used > 1);
      }
    } finally {
      this.#used -= 1;
      // Results hold memory outside of the heap that V8 does not know of, and that is freed with them: collect them
      // now.
      if (garbage !== null) globalThis.gc?.({ type: garbage });
    }
  }
}

/** A transaction on copies. */
export class ColumnarChange {
  readonly #connection: DuckDBConnection;
  readonly #statements: DuckDBPreparedStatement[] = [];
  /**
   * Statements to run before the next one with a result. They are joined, because each call of DuckDB is a trip to
   * another thread, which takes longer than a small statement.
   */
  readonly #waiting = ['BEGIN'];

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /**
   * Runs a statement without a result, at the latest when the change is committed. If it fails, a later call or the
   * commit rejects.
   */
  run(text: string): void {
    this.#waiting.push(text);
  }

  /** The rows of a result. */
  async rows(text: string, values?: DuckDBValue[]): Promise<DuckDBValue[][]> {
    return (await this.#connection.runAndReadAll(this.#take(text), values)).getRows();
  }

  /**
   * Prepares statements with the same parameters. The returned function runs them one after the other, and can be
   * called until the change ends. It copies the values before it returns.
   */
  async prepare(texts: readonly string[]): Promise<(values: readonly Uint8Array[]) => Promise<void>> {
    // Run the waiting statements first: they may create tables that these use.
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

  /** Frees the prepared statements. */
  close(): void {
    for (const statement of this.#statements) statement.destroySync();
  }
}

/**
 * Converts an error of DuckDB to a QueryError if it is about resources. DuckDB's errors have no codes, but their
 * messages begin with their kind.
 */
function failureOf(error: unknown, isShared: boolean): unknown {
  const { message } = error as Error;
  if (isMemory(error)) {
    const what = message.includes('max_temp_directory_size') ? 'space on the disk' : 'memory';
    // All queries share the memory, so a query is known to need too much only if it ran alone.
    return isShared
      ? new QueryError(
          'service_unavailable',
          `There is too little ${what} for the query now, because other queries are running. Try again later.`,
          {
            cause: error,
          },
        )
      : new QueryError('limit_exceeded', `The query needs more ${what} than allowed.`, { cause: error });
  }
  if (message.includes(tooLong)) return new QueryError('limit_exceeded', tooLong, { cause: error });
  if (message.startsWith('IO Error'))
    return new QueryError('service_unavailable', 'The query engine cannot use its disk now.', { cause: error });
  return error;
}

/** Whether DuckDB or the process has no memory left. During a commit the message begins with another kind. */
function isMemory(error: unknown): boolean {
  return /^Out of Memory Error|could not allocate block|failed to (?:pin block|allocate data|offload data)|bad[ _]alloc|^(?:[A-Za-z]+ Error: )?(?:Failed to commit: )?Allocation failure/.test(
    (error as Error).message,
  );
}

/** Whether even a small block could not be allocated. The allocator does not return memory, so this will not pass. */
function isExhausted(error: unknown): boolean {
  return /^(?:Out of Memory Error: )?Failed to allocate block of \d{1,6} bytes \(bad allocation\)|bad_alloc|Allocation failure/.test(
    (error as Error).message,
  );
}
