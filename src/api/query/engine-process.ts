/** A query process, with the folder of its copies. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { makeFolder } from '../../storage/data-folder.ts';
import { isLoopback } from '../../storage/loopback.ts';
import type { EngineAddress, NotedEngine } from './engine-addresses.ts';
import { processEnvironment } from './process-environment.ts';
import { ProcessWatch, watchTimes } from './process-watch.ts';
import {
  exitCodeOfChange,
  type CancelSql,
  type EngineMessage,
  type EngineReady,
  type EngineSettings,
  type ProcessKind,
} from './protocol.ts';

const main = fileURLToPath(new URL('engine/main.ts', import.meta.url));

/** The heap of the process. Rows to copy pass through it in parts of a few MiB. */
const heapMiB = 160;

/** Resident memory that the process may take in addition to DuckDB's. The service ends a process that takes more. */
const besidesBytes = 512 * 2 ** 20;

/**
 * Private memory that a process may map in addition to DuckDB's. 1.2 GB of it are threads, code and pages that
 * allocators keep, of which little is resident. So for SQL this limits only single values, such as a text of a
 * gigabyte: the query that creates one fails, and nothing else does. Other queries create no such values, but copies of
 * many columns make allocators keep more pages.
 */
const mappedBytes: Readonly<Record<ProcessKind, number>> = { sql: 1792 * 2 ** 20, queries: 2560 * 2 ** 20 };

/** The size of Node's thread pool. Each query holds a thread while it runs, and file operations need some too. */
const threadsOfPool = 32;

/** How long the process may take to start, in milliseconds. */
const startMs = 40_000;

/** Signals that count as a crash. SIGKILL does not: operators send it, and so does the kernel when memory runs out. */
const crashes: ReadonlySet<NodeJS.Signals | null> = new Set([
  'SIGSEGV',
  'SIGABRT',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
  'SIGSYS',
]);

/** The reason for ending a process that the service no longer needs. */
const closed = 'closed';

/**
 * The mechanisms that limit the memory of a query process on this system. `watch`: the service reads its resident
 * memory and ends it. `rlimit`: RLIMIT_DATA.
 */
export const boundsInForce: readonly ('watch' | 'rlimit')[] =
  process.platform === 'linux' ? ['watch', 'rlimit'] : ['watch'];

/** How a process has ended. */
export interface ProcessExit {
  /** The ID of the engine. */
  readonly id: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the service ended the process; null if the process ended by itself, or if somebody else ended it. */
  readonly reason: string | null;
  /** Whether a query may have caused the end. */
  readonly isCrash: boolean;
}

export interface EngineProcessOptions extends Omit<
  EngineSettings,
  'id' | 'secret' | 'folder' | 'logLevel' | 'residentBytesMax' | 'mappedBytesMax'
> {
  /** The parent of the folders in which processes keep copies of tables. */
  readonly folder: string;
  /** Whether the process connects to Postgres with its own role. */
  readonly hasOwnRole: boolean;
  readonly logger: Logger;
  /** Called with each message of the running process. */
  readonly onMessage: (message: EngineMessage) => void;
  /** Called once, when the process has ended. */
  readonly onExit: (exit: ProcessExit) => void;
}

export class EngineProcess {
  /** The address for requests of this process. */
  readonly address: EngineAddress;
  /** The address for other processes. */
  readonly noted: NotedEngine;
  /** Resolves when the process has ended. */
  readonly exited: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #end: (reason: string) => void;

  private constructor({
    child,
    folder,
    address,
    noted,
    exited,
    end,
  }: {
    readonly child: ChildProcess;
    readonly folder: string;
    readonly address: EngineAddress;
    readonly noted: NotedEngine;
    readonly exited: Promise<unknown>;
    readonly end: (reason: string) => void;
  }) {
    this.#child = child;
    this.#folder = folder;
    this.#end = end;
    this.address = address;
    this.noted = noted;
    this.exited = exited;
  }

  /** The limit of a process's resident memory, in bytes. */
  static residentBytesMax({ memoryBytesMax }: Pick<EngineProcessOptions, 'memoryBytesMax'>): number {
    return memoryBytesMax + besidesBytes;
  }

  /** Starts a process. Resolves when it accepts requests. Rejects if it ends or takes too long. */
  static async launch({
    onMessage,
    onExit,
    logger,
    hasOwnRole,
    ...settings
  }: EngineProcessOptions): Promise<EngineProcess> {
    const id = randomUUID();
    const secret = randomBytes(32).toString('base64url');
    const folder = join(settings.folder, id);
    await makeFolder(settings.folder);
    await makeFolder(folder);
    const residentBytesMax = EngineProcess.residentBytesMax(settings);
    const mappedBytesMax = settings.memoryBytesMax + mappedBytes[settings.kind];
    const limitKiB = Math.ceil(mappedBytesMax / 1024);
    const child = spawn(
      '/bin/sh',
      [
        // No core dumps: they would contain rows of teams.
        '-c',
        `ulimit -c 0; ${process.platform === 'linux' ? `ulimit -d ${limitKiB} && ` : ''}exec "$@"`,
        'sh',
        process.execPath,
        `--max-old-space-size=${heapMiB}`,
        '--max-semi-space-size=8',
        '--expose-gc',
        // DuckDB's threads use all processors: helper threads of the garbage collector would wait for them, and delay
        // it.
        '--single-threaded-gc',
        // While marking is incremental, everything allocated meanwhile counts as used until the next marking. While
        // rows are copied, V8 would mark all the time, which took a third of the thread. The last argument, the kind,
        // only shows in process lists.
        '--no-incremental-marking',
        main,
        settings.kind,
      ],
      {
        // The process for SQL gets its own session: within the service's session, its priority would not count against
        // a Postgres in another session (engine/give-way.ts).
        detached: settings.kind === 'sql',
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        env: { ...processEnvironment(process.env, hasOwnRole), UV_THREADPOOL_SIZE: String(threadsOfPool) },
      },
    );
    let reason: string | null = null;
    let watch: ProcessWatch | null = null;
    const end = (because: string): void => {
      reason ??= because;
      child.kill('SIGKILL');
    };
    child.on('message', (message: EngineMessage) => {
      if ('ending' in message) end(message.ending);
      else onMessage(message);
    });
    const exited = once(child, 'exit');
    child.on('exit', (code, signal) => {
      watch?.close();
      // The next process cannot use these copies. If the removal fails, a later start removes the folder.
      void rm(folder, { recursive: true, force: true }).catch(() => undefined);
      const isCrash =
        reason === null
          ? crashes.has(signal) || (code !== null && code !== 0 && code !== exitCodeOfChange)
          : reason !== closed;
      onExit({ id, code, signal, reason, isCrash });
    });
    const ended = exited.then(() => Promise.reject(new Error('the query process ended while it was starting')));
    try {
      // Do not pass the settings as arguments, which every user of the machine can see.
      child.send({
        ...settings,
        id,
        folder,
        secret,
        logLevel: logger.level,
        residentBytesMax,
        mappedBytesMax,
      } satisfies EngineSettings);
      const [{ port }] = (await Promise.race([
        once(child, 'message', { signal: AbortSignal.timeout(startMs) }),
        ended,
      ])) as [EngineReady];
      logger.info(
        { pid: child.pid, engine: settings.kind, residentBytesMax, bounds: boundsInForce },
        'a query process has started',
      );
      const url = (host: string): string => `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
      const { host } = settings;
      const machine = isLoopback(host) ? hostname() : null;
      const address = { url: url(isEveryAddress(host) ? '127.0.0.1' : host), secret };
      watch = new ProcessWatch({ ...watchTimes, pid: child.pid!, address, residentBytesMax, onBad: end });
      return new EngineProcess({
        child,
        folder,
        exited,
        end,
        address,
        noted: { id, secret, machine, url: url(isEveryAddress(host) ? addressOfMachine() : host) },
      });
    } catch (error) {
      end(closed);
      throw error;
    }
  }

  /** Sends a message to the process. */
  send(message: CancelSql): void {
    // Ignore errors: a process that ends meanwhile does not need the message.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** Ends the process, and removes its folder. */
  async close(): Promise<void> {
    this.#end(closed);
    await this.exited;
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * An address at which other machines reach this one. Without one, the loopback address, which only its own processes
 * reach.
 */
function addressOfMachine(): string {
  const addresses = Object.values(networkInterfaces())
    .flatMap((named) => named ?? [])
    .filter(({ internal }) => !internal);
  return (addresses.find(({ family }) => family === 'IPv4') ?? addresses[0])?.address ?? '127.0.0.1';
}
