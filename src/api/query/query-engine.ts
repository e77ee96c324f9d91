/**
 * What answers the queries of a service: two query processes, one for SQL, one for all others. Each is started when it
 * is first asked, and anew when it has ended.
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

/** How many times SQL is asked again when the process ended by no fault of its team. */
const innocentTriesMax = 3;

/** How long SQL waits while that of suspects runs alone, in milliseconds. */
const suspectsWaitMs = 60_000;

const endedBySql = 'The SQL of the team ended the process that answers SQL';

interface QueryEngineOptions extends Omit<EngineProcessOptions, 'kind' | 'niceness' | 'onMessage' | 'onExit'> {
  /** Where all processes find each other's engines (`createEngineAddresses`). */
  readonly pool: pg.Pool;
}

/** An answer of the engine: rows or groups as the text of a page. */
interface EngineAnswer {
  readonly body: Buffer;
  /** What to ask for the next page with; null on the last page. In JSON it is in the body too. */
  readonly continuation: string | null;
  readonly version: bigint;
  /** How many rows meet the filter; null if that was not asked. */
  readonly count: string | null;
  /** Whether the table had to be copied first. */
  readonly isCold: boolean;
}

/** A file that the engine makes while it is read. */
export interface ExportedFile {
  /** To be piped: what it gave is overwritten later (EngineFile). */
  readonly file: Readable;
  readonly version: bigint;
  readonly isCold: boolean;
}

/** What is known of one of the query processes, for metrics. */
export interface ProcessState {
  readonly kind: ProcessKind;
  /** How often it was started, and how often in vain. */
  readonly starts: number;
  readonly failedStarts: number;
  /** How often it ended in such a way that a query may have ended it. */
  readonly crashes: number;
  /** How much resident memory it may take. */
  readonly residentBytesMax: number;
  /** What it has in use; null while there is no process, or it does not answer. */
  readonly use: EngineUse | null;
}

export class QueryEngine {
  readonly #options: QueryEngineOptions;
  readonly #processes: Readonly<Record<ProcessKind, KeptProcess>>;
  readonly #turns = new SqlTurns();
  /** The teams that a process for SQL said to have ended it, until it has ended. */
  readonly #stuck = new Set<string>();
  /** How many times SQL was asked of a process. */
  #requests = 0;
  /** Resolves once it is noted for other processes whether the engine runs. */
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
        // SQL has no further pages, so no other machine asks this process.
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

  /** Removes what processes left that have ended. */
  static async open(options: QueryEngineOptions): Promise<QueryEngine> {
    await removeAbandonedFolders(options.folder);
    return new QueryEngine(options);
  }

  /** Which processes could not be started the last time, in sentences. */
  problems(): string[] {
    return processKinds.flatMap((kind) => this.#processes[kind].problem ?? []);
  }

  /** Each process, and what it has in use. */
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
   * A page that goes on is asked of the engine that holds its continuation. Rejects with EngineRefusal, EngineGone, or
   * as the signal says.
   */
  async ask(query: QueryRequest, signal: AbortSignal): Promise<EngineAnswer> {
    return query.continuation === null
      ? this.#processes.queries.ask(({ address }) => this.#readAnswer(post(address, '/rows', query, signal), signal))
      : this.#readAnswer(this.#continue(query, query.continuation, signal), signal);
  }

  /** The answer to SQL, in its format. Rejects as `ask` does. */
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
   * The file of an export. Rejects as `ask` does; the file itself ends with an error if the engine does not send all of
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

  /** Ends the processes that there are. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(processKinds.map((kind) => this.#processes[kind].close()));
    await this.#noted;
  }

  /**
   * Asks SQL once. Null if the process ended, and SQL of the team is not known to be the cause: it is to be asked
   * again. Rejects as `ask` does.
   */
  async #takeTurn(
    turn: SqlTurn,
    request: SqlRequest,
    signal: AbortSignal,
  ): Promise<Pick<EngineAnswer, 'body' | 'isCold'> | null> {
    // Whether the SQL of a suspect ends the process again is found out also if nobody waits for its answer.
    const wanted = this.#turns.isSuspect(turn) ? new AbortController().signal : signal;
    await this.#enter(turn, wanted);
    try {
      this.#checkConvicted(request.teamId);
      const running = await this.#processes.sql.start();
      turn.processId = running.noted.id;
      return await this.#askTurn(running, request, wanted);
    } catch (error) {
      if (turn.verdict === 'convicted')
        throw new EngineRefusal('limit_exceeded', `${endedBySql}: it takes more than SQL may.`, null, { cause: error });
      if (turn.verdict === 'team_convicted') this.#checkConvicted(request.teamId);
      if (turn.verdict === null || (turn.verdict === 'innocent' && wanted.aborted)) throw error;
      return null;
    } finally {
      this.#turns.leave(turn);
    }
  }

  /**
   * Asks a process. When the signal aborts, waits until the SQL is not at work any more. If the process ends, waits for
   * the verdict.
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
      // That of a suspect is asked until it is known whether it ends the process.
      await this.#turns.enter(turn, this.#turns.isSuspect(turn) ? signal : AbortSignal.any([signal, late]));
    } catch (error) {
      if (signal.aborted) throw error;
      throw new EngineRefusal('service_unavailable', 'SQL that may have ended the query engine runs alone now.', null, {
        cause: error,
      });
    }
  }

  #checkConvicted(teamId: string): void {
    const waitMs = this.#turns.waitMs(teamId);
    if (waitMs > 0)
      throw new EngineRefusal('rate_limited', `${endedBySql}: the team must wait with SQL.`, Math.ceil(waitMs / 1000));
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

  /** The engine of any process; null if it is not there any more. */
  async #find(id: string): Promise<EngineAddress | null> {
    const own = await this.#processes.queries.running();
    return own?.noted.id === id ? own.address : findEngine(this.#options.pool, id, hostname());
  }

  /** If it cannot be noted, other processes find no engine, or one that they cannot reach, for some minutes. */
  #note(work: () => Promise<void>): void {
    this.#noted = this.#noted.then(work).catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, 'it could not be noted whether the query engine runs');
    });
  }
}
