/**
 * Answers the queries of a service with two query processes, one for SQL and one for all other queries. Each starts at
 * its first query, and again after it has ended.
 */
import { hostname } from 'node:os';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type pg from 'pg';
import { removeAbandonedFolders } from './abandoned-folders.ts';
import {
  checkStatus,
  EngineGone,
  EngineRefusal,
  EngineReplaced,
  post,
  problemOf,
  type Answering,
} from './ask-process.ts';
import { findEngine, forgetEngine, noteEngine, notedEveryMs, type EngineAddress } from './engine-addresses.ts';
import { EngineFile } from './engine-file.ts';
import { EngineProcess, type EngineProcessOptions } from './engine-process.ts';
import { hasEnded, KeptProcess } from './kept-process.ts';
import {
  answerHeaders,
  expiredContinuation,
  parseEngineContinuation,
  processKinds,
  type EngineMessage,
  type EngineUse,
  type ExportRequest,
  type ProcessKind,
  type QueryRequest,
  type SqlRequest,
  type SqlTurnRequest,
} from './protocol.ts';
import { SqlTurns, type SqlTurn } from './sql-turns.ts';

export { EngineGone, EngineRefusal } from './ask-process.ts';

/** How often SQL is tried again when the process ended without fault of its team. */
const innocentTriesMax = 3;

/** How long SQL waits while the SQL of suspects runs alone, in milliseconds. */
const suspectsWaitMs = 60_000;

const endedBySql = 'The SQL of the team ended the process that answers SQL';

interface QueryEngineOptions extends Omit<EngineProcessOptions, 'kind' | 'niceness' | 'onMessage' | 'onExit'> {
  /** The database in which processes find each other's engines (`createEngineAddresses`). */
  readonly pool: pg.Pool;
}

/** An answer of the engine: rows or groups as the text of a page. */
export interface EngineAnswer {
  readonly body: Buffer;
  /** The continuation for the next page; null on the last page. A JSON body also contains it. */
  readonly continuation: string | null;
  readonly version: bigint;
  /** How many rows match the filter; null if the query did not ask for the count. */
  readonly count: string | null;
  /** Whether the table had to be copied first. */
  readonly isCold: boolean;
}

/** A file that the engine writes while it is read. */
export interface ExportedFile {
  /** Pipe it on: its parts are overwritten later (EngineFile). */
  readonly file: Readable;
  readonly version: bigint;
  readonly isCold: boolean;
}

/** The state of a query process, for metrics. */
export interface ProcessState {
  readonly kind: ProcessKind;
  /** How often the process was started, and how often a start failed. */
  readonly starts: number;
  readonly failedStarts: number;
  /** How often the process ended in a way that a query may have caused. */
  readonly crashes: number;
  /** The limit of its resident memory, in bytes. */
  readonly residentBytesMax: number;
  /** The resources that it uses; null while there is no process, or if it does not answer. */
  readonly use: EngineUse | null;
}

export class QueryEngine {
  readonly #options: QueryEngineOptions;
  readonly #processes: Readonly<Record<ProcessKind, KeptProcess>>;
  readonly #turns = new SqlTurns();
  /** The teams that the process for SQL has reported as the cause of its end, until it has ended. */
  readonly #stuck = new Set<string>();
  /** The number of requests to a process for SQL. */
  #requests = 0;
  /** Resolves when the last note about the engine is written, for other processes. */
  #noted: Promise<unknown> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;

  private constructor(options: QueryEngineOptions) {
    this.#options = options;
    const { pool, threads, ...settings } = options;
    this.#processes = {
      queries: new KeptProcess({
        ...settings,
        kind: 'queries',
        niceness: 5,
        threads,
        onReady: ({ noted }) => noteEngine(pool, noted),
        onMessage: () => undefined,
        onExit: ({ id }) => this.#note(() => forgetEngine(pool, id)),
      }),
      sql: new KeptProcess({
        // SQL has no further pages, so no other machine needs to reach this process.
        ...settings,
        kind: 'sql',
        host: '127.0.0.1',
        port: 0,
        niceness: 15,
        threads: Math.max(1, Math.floor(threads / 2)),
        onReady: async () => undefined,
        onMessage: (message) => this.#hear(message),
        onExit: (exit) => {
          this.#turns.ended(exit, this.#stuck);
          this.#stuck.clear();
        },
      }),
    };
    this.#timer = setInterval(
      () =>
        this.#note(async () => {
          const running = await this.#processes.queries.running();
          if (running) await noteEngine(pool, running.noted);
        }),
      notedEveryMs,
    ).unref();
  }

  /** Creates the engine, and removes the folders of processes that have ended. Starts no process. */
  static async open(options: QueryEngineOptions): Promise<QueryEngine> {
    await removeAbandonedFolders(options.folder);
    return new QueryEngine(options);
  }

  /** A sentence for each process whose last start failed. */
  problems(): string[] {
    return processKinds.flatMap((kind) => this.#processes[kind].problem ?? []);
  }

  /** The states of both processes. */
  async states(): Promise<ProcessState[]> {
    const residentBytesMax = EngineProcess.residentBytesMax(this.#options);
    return Promise.all(
      processKinds.map(async (kind) => {
        const kept = this.#processes[kind];
        return {
          kind,
          starts: kept.starts,
          failedStarts: kept.failedStarts,
          crashes: kept.crashes,
          residentBytesMax,
          use: await kept.use().catch(() => null),
        };
      }),
    );
  }

  /**
   * Answers a query. A further page comes from the engine that holds its continuation, perhaps of another process.
   * Rejects with EngineRefusal, with EngineGone, and with the reason of the signal.
   */
  async ask(query: QueryRequest, signal: AbortSignal): Promise<EngineAnswer> {
    return query.continuation === null
      ? this.#processes.queries.ask(({ address }) => this.#readAnswer(post(address, '/rows', query, signal), signal))
      : this.#readAnswer(this.#continue(query, query.continuation, signal), signal);
  }

  /** Answers SQL, in the format of the request. Rejects as `ask` does. */
  async askSql(request: SqlRequest, signal: AbortSignal): Promise<Pick<EngineAnswer, 'body' | 'isCold'>> {
    this.#checkConvicted(request.teamId);
    const turn: SqlTurn = { teamId: request.teamId, processId: null, verdict: null };
    try {
      for (let innocentTries = 0; ; innocentTries += 1) {
        const answer = await this.#takeTurn(turn, request, signal);
        if (answer !== null) return answer;
        if (turn.verdict === 'innocent' && innocentTries === innocentTriesMax)
          throw new EngineGone('The query engine ended again and again.');
      }
    } finally {
      this.#turns.close(turn);
    }
  }

  /**
   * Exports a table to a file. Rejects as `ask` does. The file ends with an error if the engine does not send all of
   * it.
   */
  async export(request: ExportRequest, signal: AbortSignal): Promise<ExportedFile> {
    return this.#processes.queries.ask(async ({ address }) => {
      try {
        const { status, headers, file } = await EngineFile.open(address, '/export', request, signal);
        await checkStatus(status, file);
        return {
          file,
          version: BigInt(headers[answerHeaders.version]!),
          isCold: headers[answerHeaders.cold] === 'true',
        };
      } catch (error) {
        throw problemOf(error, signal);
      }
    });
  }

  /** Ends both processes. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(processKinds.map((kind) => this.#processes[kind].close()));
    await this.#noted;
  }

  /**
   * Runs SQL once. Resolves to null if the process ended and SQL of the team is not known to be the cause: then try
   * again. Rejects as `ask` does.
   */
  async #takeTurn(
    turn: SqlTurn,
    request: SqlRequest,
    signal: AbortSignal,
  ): Promise<Pick<EngineAnswer, 'body' | 'isCold'> | null> {
    // The SQL of a suspect runs even if nobody waits for its answer, to find out whether it ends the process again.
    const wanted = this.#turns.isSuspect(turn) ? new AbortController().signal : signal;
    await this.#enter(turn, wanted);
    try {
      this.#checkConvicted(request.teamId);
      const running = await this.#processes.sql.start();
      turn.processId = running.noted.id;
      return await this.#askTurn(running, request, wanted);
    } catch (error) {
      if (turn.verdict === 'convicted')
        throw new EngineRefusal('limit_exceeded', `${endedBySql}: it needs more resources than allowed.`, null, {
          cause: error,
        });
      if (turn.verdict === 'team_convicted') this.#checkConvicted(request.teamId);
      if (turn.verdict === null || (turn.verdict === 'innocent' && wanted.aborted)) throw error;
      return null;
    } finally {
      this.#turns.leave(turn);
    }
  }

  /**
   * Sends SQL to a process. If the signal aborts, waits until the SQL has stopped. If the process ends, waits for the
   * verdict.
   */
  async #askTurn(
    running: EngineProcess,
    request: SqlRequest,
    signal: AbortSignal,
  ): Promise<Pick<EngineAnswer, 'body' | 'isCold'>> {
    signal.throwIfAborted();
    this.#requests += 1;
    const turn = this.#requests;
    const cancel = (): void => running.send({ cancel: turn });
    signal.addEventListener('abort', cancel, { once: true });
    const answered = new AbortController().signal;
    try {
      const { response, headers } = await post(
        running.address,
        '/sql',
        { ...request, turn } satisfies SqlTurnRequest,
        answered,
      );
      return { body: await buffer(response), isCold: headers[answerHeaders.cold] === 'true' };
    } catch (error) {
      const problem = problemOf(error, answered);
      if (problem instanceof EngineGone) await hasEnded(running);
      throw problem;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  async #enter(turn: SqlTurn, signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(suspectsWaitMs);
    try {
      // The SQL of a suspect waits without limit, until it is known whether it ends the process.
      await this.#turns.enter(turn, this.#turns.isSuspect(turn) ? signal : AbortSignal.any([signal, late]));
    } catch (error) {
      if (signal.aborted) throw error;
      throw new EngineRefusal(
        'service_unavailable',
        'The query engine is busy: SQL that may have crashed it runs alone now. Try again later.',
        null,
        {
          cause: error,
        },
      );
    }
  }

  #checkConvicted(teamId: string): void {
    const waitMs = this.#turns.waitMs(teamId);
    if (waitMs > 0)
      throw new EngineRefusal(
        'rate_limited',
        `${endedBySql}: the team must wait before it sends more SQL.`,
        Math.ceil(waitMs / 1000),
      );
  }

  #hear(message: EngineMessage): void {
    if (!('stuck' in message)) return;
    this.#turns.convict(message.stuck);
    this.#stuck.add(message.stuck);
  }

  async #readAnswer(answering: Promise<Answering>, signal: AbortSignal): Promise<EngineAnswer> {
    const { response, headers } = await answering;
    try {
      return {
        body: await buffer(response),
        continuation: headers[answerHeaders.continuation] ?? null,
        version: BigInt(headers[answerHeaders.version]!),
        count: headers[answerHeaders.count] ?? null,
        isCold: headers[answerHeaders.cold] === 'true',
      };
    } catch (error) {
      throw problemOf(error, signal);
    }
  }

  async #continue(query: QueryRequest, continuation: string, signal: AbortSignal): Promise<Answering> {
    const { type, message } = expiredContinuation(query.prefix);
    const holder = await this.#find(parseEngineContinuation(continuation)!.engine);
    if (holder === null) throw new EngineRefusal(type, message);
    try {
      return await post(holder, '/rows', query, signal);
    } catch (error) {
      throw error instanceof EngineReplaced ? new EngineRefusal(type, message) : error;
    }
  }

  /** The address of an engine, of any process; null if it no longer exists. */
  async #find(id: string): Promise<EngineAddress | null> {
    const own = await this.#processes.queries.running();
    return own?.noted.id === id ? own.address : findEngine(this.#options.pool, id, hostname());
  }

  /**
   * Writes a note about the engine. If that fails, other processes find no engine for some minutes, or one that has
   * ended.
   */
  #note(work: () => Promise<void>): void {
    this.#noted = this.#noted.then(work).catch((error: unknown) => {
      this.#options.logger.warn(
        { err: error },
        'the address of the query engine could not be written to Postgres; the next attempt follows within a minute',
      );
    });
  }
}
