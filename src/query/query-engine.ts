/** The query engine of a service: a process that is started when it is first asked, and anew when it has ended. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer, json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { makeFolder } from '../app/data-folder.ts';
import { removeAbandonedFolders } from './abandoned-folders.ts';
import { answerHeaders, type EngineReady, type EngineSettings, type EngineStuck, type EngineUse, type ExportRequest, type QueryRequest, type SqlRequest } from './protocol.ts';

const main = fileURLToPath(new URL('engine/main.ts', import.meta.url));

/** The heap of its process. What it copies goes through it in parts of some MiB. */
const heapMiB = 192;

/** The address space that its process may use besides the memory of DuckDB. The allocator keeps freed pages mapped, so the limit is far above the resident size. */
const besidesBytes = 3 * 2 ** 30;

/** Each query takes a thread of Node's pool while it runs, and files need some too. */
const threadsOfPool = 32;

/** How long it may take to start, in milliseconds. */
const startMs = 20_000;

/** How long a team waits whose SQL could not be interrupted. */
const stuckWaitMs = 600_000;

export interface QueryEngineOptions extends Omit<EngineSettings, 'secret' | 'folder'> {
  /** The folder in which each process has one for its copies of tables. */
  readonly folder: string;
  readonly logger: Logger;
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
export interface EngineFile {
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

interface Running {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly url: string;
}

export class QueryEngine {
  readonly #options: QueryEngineOptions;
  readonly #secret = randomBytes(32).toString('base64url');
  #running: Promise<Running> | null = null;
  /** The process that was started last. */
  #child: ChildProcess | null = null;
  #isClosed = false;
  #starts = 0;
  /** The teams whose SQL has ended the engine, which costs all others: they wait before they may ask in SQL again. */
  readonly #stuck = new LRUCache<string, true>({ max: 1000, ttl: stuckWaitMs });

  private constructor(options: QueryEngineOptions) {
    this.#options = options;
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

  /** Rejects with EngineRefusal, EngineGone, or as the signal says. */
  async ask(query: QueryRequest, signal: AbortSignal): Promise<EngineAnswer> {
    const { response, headers } = await this.#post('/rows', query, signal);
    try {
      const body = await buffer(response);
      return {
        body, continuation: headers[answerHeaders.continuation] ?? null, version: BigInt(headers[answerHeaders.version]!),
        count: headers[answerHeaders.count] ?? null, isCold: headers[answerHeaders.cold] === 'true',
      };
    } catch (error) {
      throw this.#problem(error, signal);
    }
  }

  /** The answer to SQL, in its format. Rejects as `ask` does. */
  async askSql(request: SqlRequest, signal: AbortSignal): Promise<Pick<EngineAnswer, 'body' | 'isCold'>> {
    const waitMs = this.#stuck.getRemainingTTL(request.teamId);
    if (waitMs > 0) {
      throw new EngineRefusal('rate_limited', 'A query of the team could not be interrupted, and ended the query engine for all: the team must wait with SQL.', Math.ceil(waitMs / 1000));
    }
    const { response, headers } = await this.#post('/sql', request, signal);
    try {
      return { body: await buffer(response), isCold: headers[answerHeaders.cold] === 'true' };
    } catch (error) {
      throw this.#problem(error, signal);
    }
  }

  /** The file of an export. Rejects as `ask` does; the file itself ends with an error if the engine does not send all of it. */
  async export(request: ExportRequest, signal: AbortSignal): Promise<EngineFile> {
    const { response, headers } = await this.#post('/export', request, signal);
    return { file: response, version: BigInt(headers[answerHeaders.version]!), isCold: headers[answerHeaders.cold] === 'true' };
  }

  /** What it has in use; null while there is no process. */
  async use(): Promise<EngineUse | null> {
    const running = await this.#running?.catch(() => null);
    if (!running) return null;
    const response = await fetch(`${running.url}/use`, { headers: { authorization: this.#secret } });
    return await response.json() as EngineUse;
  }

  async #post(path: string, body: object, signal: AbortSignal): Promise<{ readonly response: IncomingMessage; readonly headers: Readonly<Record<string, string>> }> {
    const { url } = await this.#start();
    try {
      const request = httpRequest(`${url}${path}`, { method: 'POST', headers: { authorization: this.#secret }, signal });
      // Once there is a response, that ends with the error too.
      request.on('error', () => undefined);
      request.end(JSON.stringify(body));
      const [response] = await once(request, 'response') as [IncomingMessage];
      if (response.statusCode !== 200) {
        const { type, message } = await json(response) as { readonly type: string; readonly message: string };
        throw new EngineRefusal(type, message);
      }
      return { response, headers: response.headers as Record<string, string> };
    } catch (error) {
      throw this.#problem(error, signal);
    }
  }

  #problem(error: unknown, signal: AbortSignal): unknown {
    if (error instanceof EngineRefusal || signal.aborted) return error;
    return new EngineGone('The query engine ended while it answered.', { cause: error });
  }

  /** Ends the process, if there is one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = await this.#running?.catch(() => null);
    if (!running) return;
    const { child, folder } = running;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  }

  #start(): Promise<Running> {
    if (this.#isClosed) return Promise.reject(new EngineGone('The service is stopping.'));
    this.#running ??= this.#launch().catch((error: unknown) => {
      this.#running = null;
      throw new EngineGone('The query engine could not be started.', { cause: error });
    });
    return this.#running;
  }

  async #launch(): Promise<Running> {
    const { logger, ...settings } = this.#options;
    const folder = join(settings.folder, randomUUID());
    await makeFolder(settings.folder);
    await makeFolder(folder);
    // DuckDB bounds its buffers, but not single values, such as a text of gigabytes: those fail by the limit of the process.
    const limitKiB = Math.ceil((settings.memoryBytesMax + besidesBytes) / 1024);
    const child = spawn('/bin/sh', [
      '-c', `${process.platform === 'linux' ? `ulimit -d ${limitKiB} && ` : ''}exec "$@"`, 'sh',
      process.execPath, `--max-old-space-size=${heapMiB}`, '--max-semi-space-size=8', '--expose-gc', main,
    ], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: { ...process.env, UV_THREADPOOL_SIZE: String(threadsOfPool) } });
    this.#child = child;
    this.#starts += 1;
    child.on('message', (message: EngineReady | EngineStuck) => {
      if ('stuck' in message) this.#stuck.set(message.stuck, true);
    });
    child.on('exit', (code, signal) => {
      if (this.#child === child) this.#running = null;
      // Copies are of no use to the next one. What cannot be removed now is later.
      void rm(folder, { recursive: true, force: true }).catch(() => undefined);
      if (!this.#isClosed) logger.warn({ code, signal }, 'the query engine has ended; the next query starts it anew');
    });
    // Not as arguments, which every user of the machine sees.
    child.send({ ...settings, folder, secret: this.#secret } satisfies EngineSettings);
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('it ended while it started')));
    const isLate = AbortSignal.timeout(startMs);
    try {
      const [{ port }] = await Promise.race([once(child, 'message', { signal: isLate }), ended]) as [EngineReady];
      logger.info({ pid: child.pid }, 'the query engine has started');
      return { child, folder, url: `http://127.0.0.1:${port}` };
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }
}
