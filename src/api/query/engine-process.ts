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

/** The heap of the process. What it copies goes through it in parts of some MiB. */
const heapMiB = 160;

/** The most resident memory of the process besides that of DuckDB. The service ends a process that takes more. */
const besidesBytes = 512 * 2 ** 20;

/**
 * The private memory that a process may map besides the memory of DuckDB. Its threads, its code and the pages that
 * allocators keep are 1.2 GB of that, of which little is resident. So for SQL this bounds single values only, such as a
 * text of a gigabyte: the query that makes one fails, and nothing else does. Other queries make no such values, and
 * allocators keep more of what copies of many columns took.
 */
const mappedBytes: Readonly<Record<ProcessKind, number>> = { sql: 1792 * 2 ** 20, queries: 2560 * 2 ** 20 };

/** Each query takes a thread of Node's pool while it runs, and files need some too. */
const threadsOfPool = 32;

/** How long it may take to start, in milliseconds. */
const startMs = 40_000;

/**
 * Signals by which a process ends that has crashed. SIGKILL is none of them: operators send it, too, and so does the
 * kernel, to whichever process is large.
 */
const crashes: ReadonlySet<NodeJS.Signals | null> = new Set([
  'SIGSEGV',
  'SIGABRT',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
  'SIGSYS',
]);

/** The reason of a process that the service ends because it needs it no more. */
const closed = 'closed';

/**
 * What bounds the memory of a query process on this system: `watch`: the service reads its resident memory and ends it;
 * `rlimit`: RLIMIT_DATA.
 */
export const boundsInForce: readonly ('watch' | 'rlimit')[] =
  process.platform === 'linux' ? ['watch', 'rlimit'] : ['watch'];

/** How a process has ended. */
export interface ProcessExit {
  /** Of the engine. */
  readonly id: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the service ended it; null if it ended by itself, or somebody else ended it. */
  readonly reason: string | null;
  /** Whether a query may have ended it. */
  readonly isCrash: boolean;
}

export interface EngineProcessOptions extends Omit<
  EngineSettings,
  'id' | 'secret' | 'folder' | 'logLevel' | 'residentBytesMax' | 'mappedBytesMax'
> {
  /** The folder in which each process has one for its copies of tables. */
  readonly folder: string;
  /** Whether it connects to Postgres as a role of its own. */
  readonly hasOwnRole: boolean;
  readonly logger: Logger;
  /** Called with what the process says while it runs. */
  readonly onMessage: (message: EngineMessage) => void;
  /** Called once, when the process has ended. */
  readonly onExit: (exit: ProcessExit) => void;
}

export class EngineProcess {
  /** How this process reaches it. */
  readonly address: EngineAddress;
  /** How all others do. */
  readonly noted: NotedEngine;
  /** Resolves when it has ended. */
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

  /** The most bytes of resident memory that a process may take. */
  static residentBytesMax({ memoryBytesMax }: Pick<EngineProcessOptions, 'memoryBytesMax'>): number {
    return memoryBytesMax + besidesBytes;
  }

  /** Resolves when it takes requests. */
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
        // A core dump would have rows of teams.
        '-c',
        `ulimit -c 0; ${process.platform === 'linux' ? `ulimit -d ${limitKiB} && ` : ''}exec "$@"`,
        'sh',
        process.execPath,
        `--max-old-space-size=${heapMiB}`,
        '--max-semi-space-size=8',
        '--expose-gc',
        // The threads of DuckDB need the processors: helpers of the collector would wait for these, and it for them.
        '--single-threaded-gc',
        // What is allocated while it marks in steps counts as used until the next time: while rows are copied it would
        // mark all the time, which took a third of the thread. The kind is for those who look at a list of processes.
        '--no-incremental-marking',
        main,
        settings.kind,
      ],
      {
        // A session of its own: in that of the service, its priority would not count against a Postgres in another
        // session (engine/give-way.ts).
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
      // Copies are of no use to the next one. What cannot be removed now is later.
      void rm(folder, { recursive: true, force: true }).catch(() => undefined);
      const isCrash =
        reason === null
          ? crashes.has(signal) || (code !== null && code !== 0 && code !== exitCodeOfChange)
          : reason !== closed;
      onExit({ id, code, signal, reason, isCrash });
    });
    const ended = exited.then(() => Promise.reject(new Error('it ended while it started')));
    try {
      // Not as arguments, which every user of the machine sees.
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

  /** Tells it something while it runs. */
  send(message: CancelSql): void {
    // One that ends meanwhile need not be told.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#end(closed);
    await this.exited;
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** An address at which other machines reach this one. If it has none, only its own processes do. */
function addressOfMachine(): string {
  const addresses = Object.values(networkInterfaces())
    .flatMap((named) => named ?? [])
    .filter(({ internal }) => !internal);
  return (addresses.find(({ family }) => family === 'IPv4') ?? addresses[0])?.address ?? '127.0.0.1';
}
