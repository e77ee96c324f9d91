/** The query engine of a service: a process that is started when it is first asked, and anew when it has ended. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import type { Readable } from 'node:stream';
import { buffer, json } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { removeAbandonedFolders } from './abandoned-folders.ts';
import { findEngine, forgetEngine, noteEngine, notedEveryMs, type EngineAddress } from './engine-addresses.ts';
import { EngineFile } from './engine-file.ts';
import { EngineProcess, type EngineProcessOptions } from './engine-process.ts';
import {
  answerHeaders, expiredContinuation, parseContinuation, type EngineUse, type ExportRequest, type QueryRequest, type SqlRequest,
} from './protocol.ts';

/** How long a connection to the engine of another process may take, in milliseconds. */
const connectMs = 5000;

/** How long a team waits whose SQL ended the engine. */
const stuckWaitMs = 600_000;

/** How a process ends that has crashed. SIGKILL is none of them: operators send it, too, and so does the kernel, to whichever process is large. */
const crashes: ReadonlySet<NodeJS.Signals | null> = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']);

/** How long the engine may be at work on SQL that nobody waits for any more. */
const abandonedMs = 10_000;

export interface QueryEngineOptions extends Omit<EngineProcessOptions, 'onStuck' | 'onExit'> {
  /** Where all processes find each other's engines (`createEngineAddresses`). */
  readonly pool: pg.Pool;
}

/** An answer of the engine: rows or groups as the text of a page. */
export interface EngineAnswer {
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

/** The engine refused the query, with an error type of the interface. */
export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
  readonly type: string;
  /** After how many seconds it may be asked again; null if that makes no difference. */
  readonly retryAfter: number | null;

  constructor(type: string, message: string, retryAfter: number | null = null) {
    super(message);
    this.type = type;
    this.retryAfter = retryAfter;
  }
}

/** The engine could not be started, or ended while it answered. */
export class EngineGone extends Error {
  override readonly name = 'EngineGone';
}

/** Nobody listens where an engine was, or another engine does. */
class EngineReplaced extends EngineGone {}

export class QueryEngine {
  readonly #options: QueryEngineOptions;
  #running: Promise<EngineProcess> | null = null;
  /** Resolves once it is noted for other processes whether the engine runs. */
  #noted: Promise<unknown> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;
  #starts = 0;
  /** The teams whose SQL has ended the engine, which costs all others: they wait before they may ask in SQL again. */
  readonly #stuck = new LRUCache<string, true>({ max: 1000, ttl: stuckWaitMs });
  /** The teams whose SQL is under way. */
  readonly #asking = new LRUCache<symbol, string>({ max: 10_000 });

  private constructor(options: QueryEngineOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#note(async () => {
      const running = await this.#running?.catch(() => null);
      if (running) await noteEngine(options.pool, running.noted);
    }), notedEveryMs).unref();
  }

  /** Removes what processes left that have ended. The engine starts with the first query. */
  static async open(options: QueryEngineOptions): Promise<QueryEngine> {
    await removeAbandonedFolders(options.folder);
    return new QueryEngine(options);
  }

  /** How often its process was started. */
  get starts(): number {
    return this.#starts;
  }

  /** A page that goes on is asked of the engine that holds its continuation. Rejects with EngineRefusal, EngineGone, or as the signal says. */
  async ask(query: QueryRequest, signal: AbortSignal): Promise<EngineAnswer> {
    const { response, headers } = await this.#postQuery(query, signal);
    try {
      const body = await buffer(response);
      return {
        body, continuation: headers[answerHeaders.continuation] ?? null, version: BigInt(headers[answerHeaders.version]!),
        count: headers[answerHeaders.count] ?? null, isCold: headers[answerHeaders.cold] === 'true',
      };
    } catch (error) {
      throw problemOf(error, signal);
    }
  }

  /** The answer to SQL, in its format. Rejects as `ask` does. */
  async askSql(request: SqlRequest, signal: AbortSignal): Promise<Pick<EngineAnswer, 'body' | 'isCold'>> {
    const waitMs = this.#stuck.getRemainingTTL(request.teamId);
    if (waitMs > 0) {
      throw new EngineRefusal('rate_limited', 'SQL of the team ended the query engine for all: the team must wait with SQL.', Math.ceil(waitMs / 1000));
    }
    const address = await this.#start();
    const asking = Symbol('SQL');
    this.#asking.set(asking, request.teamId);
    try {
      const { response, headers } = await this.#post(address, '/sql', request, signal);
      const body = await buffer(response);
      this.#asking.delete(asking);
      return { body, isCold: headers[answerHeaders.cold] === 'true' };
    } catch (error) {
      if (error instanceof EngineRefusal) this.#asking.delete(asking);
      else this.#asking.set(asking, request.teamId, { ttl: abandonedMs });
      throw problemOf(error, signal);
    }
  }

  /** The file of an export. Rejects as `ask` does; the file itself ends with an error if the engine does not send all of it. */
  async export(request: ExportRequest, signal: AbortSignal): Promise<ExportedFile> {
    const address = await this.#start();
    try {
      const { status, headers, file } = await EngineFile.open(address, '/export', request, signal);
      await checkStatus(status, file);
      return { file, version: BigInt(headers[answerHeaders.version]!), isCold: headers[answerHeaders.cold] === 'true' };
    } catch (error) {
      throw problemOf(error, signal);
    }
  }

  /** What it has in use; null while there is no process. */
  async use(): Promise<EngineUse | null> {
    const running = await this.#running?.catch(() => null);
    if (!running) return null;
    const { url, secret } = running.address;
    const response = await fetch(`${url}/use`, { headers: { authorization: secret } });
    return await response.json() as EngineUse;
  }

  /** Ends the process, if there is one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const running = await this.#running?.catch(() => null);
    await running?.close();
    await this.#noted;
  }

  async #postQuery(query: QueryRequest, signal: AbortSignal): Promise<Answering> {
    if (query.continuation === null) return this.#post(await this.#start(), '/rows', query, signal);
    const { type, message } = expiredContinuation(query.prefix);
    const holder = await this.#find(parseContinuation(query.continuation)!.engine);
    if (holder === null) throw new EngineRefusal(type, message);
    try {
      return await this.#post(holder, '/rows', query, signal);
    } catch (error) {
      throw error instanceof EngineReplaced ? new EngineRefusal(type, message) : error;
    }
  }

  /** The engine of any process; null if it is not there any more. */
  async #find(id: string): Promise<EngineAddress | null> {
    const own = await this.#running?.catch(() => null);
    return own?.noted.id === id ? own.address : findEngine(this.#options.pool, id, hostname());
  }

  async #post({ url, secret }: EngineAddress, path: string, body: object, signal: AbortSignal): Promise<Answering> {
    const text = JSON.stringify(body);
    try {
      const request = httpRequest(`${url}${path}`, { method: 'POST', headers: { authorization: secret }, signal });
      // Once there is a response, that ends with the error too.
      request.on('error', () => undefined);
      request.once('socket', (socket) => limitConnecting(socket));
      request.end(text);
      const [response] = await once(request, 'response') as [IncomingMessage];
      await checkStatus(response.statusCode!, response);
      return { response, headers: response.headers as Record<string, string> };
    } catch (error) {
      throw problemOf(error, signal);
    }
  }

  async #start(): Promise<EngineAddress> {
    if (this.#isClosed) throw new EngineGone('The service is stopping.');
    this.#running ??= this.#launch();
    return (await this.#running).address;
  }

  #launch(): Promise<EngineProcess> {
    const { pool, ...options } = this.#options;
    this.#starts += 1;
    const launched = EngineProcess.launch({
      ...options,
      onStuck: (teamId) => this.#stuck.set(teamId, true),
      onExit: ({ id, code, signal }) => {
        if (this.#running === running) this.#running = null;
        // Of several teams it is not known whose SQL it was.
        const [team, ...others] = new Set(this.#asking.values());
        if (crashes.has(signal) && team !== undefined && others.length === 0) this.#stuck.set(team, true);
        this.#asking.clear();
        if (!this.#isClosed) options.logger.warn({ code, signal }, 'the query engine has ended; the next query starts it anew');
        this.#note(() => forgetEngine(pool, id));
      },
    });
    const running: Promise<EngineProcess> = launched.then(async (engine) => {
      try {
        await noteEngine(pool, engine.noted);
        return engine;
      } catch (error) {
        await engine.close();
        throw error;
      }
    }).catch((error: unknown) => {
      if (this.#running === running) this.#running = null;
      throw new EngineGone('The query engine could not be started.', { cause: error });
    });
    return running;
  }

  /** If it cannot be noted, other processes find no engine, or one that they cannot reach, for some minutes. */
  #note(work: () => Promise<void>): void {
    this.#noted = this.#noted.then(work).catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, 'it could not be noted whether the query engine runs');
    });
  }
}

interface Answering {
  readonly response: IncomingMessage;
  readonly headers: Readonly<Record<string, string>>;
}

/** Rejects if the answer is an error, as its body says. */
async function checkStatus(status: number, body: Readable): Promise<void> {
  if (status === 200) return;
  if (status === 403) {
    body.resume();
    throw new EngineReplaced('Another query engine listens there by now.');
  }
  const { type, message } = await json(body) as { readonly type: string; readonly message: string };
  throw new EngineRefusal(type, message);
}

function problemOf(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof EngineRefusal || error instanceof EngineGone || signal.aborted) return error;
  if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return new EngineReplaced('The query engine has ended.', { cause: error });
  return new EngineGone('The query engine ended while it answered.', { cause: error });
}

/** A machine that is gone answers nothing. */
function limitConnecting(socket: Socket): void {
  if (!socket.connecting) return;
  const late = setTimeout(() => socket.destroy(new Error('the query engine cannot be reached')), connectMs);
  for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(late));
}
