/** The process of a query engine, with the folder of its copies. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { makeFolder } from '../app/data-folder.ts';
import { isLoopback } from '../app/loopback.ts';
import type { EngineAddress, NotedEngine } from './engine-addresses.ts';
import type { EngineReady, EngineSettings, EngineStuck } from './protocol.ts';

const main = fileURLToPath(new URL('engine/main.ts', import.meta.url));

/** The heap of the process. What it copies goes through it in parts of some MiB. */
const heapMiB = 160;

/** The address space that the process may use besides the memory of DuckDB. The allocator keeps freed pages mapped, so the limit is far above the resident size. */
const besidesBytes = 3 * 2 ** 30;

/** Each query takes a thread of Node's pool while it runs, and files need some too. */
const threadsOfPool = 32;

/** How long it may take to start, in milliseconds. */
const startMs = 20_000;

export interface EngineProcessOptions extends Omit<EngineSettings, 'id' | 'secret' | 'folder'> {
  /** The folder in which each process has one for its copies of tables. */
  readonly folder: string;
  readonly logger: Logger;
  /** Called when a query of a team could not be interrupted, which ends the process. */
  readonly onStuck: (teamId: string) => void;
  /** Called once, when the process has ended. `id`: of the engine. */
  readonly onExit: (exit: { readonly id: string; readonly code: number | null; readonly signal: NodeJS.Signals | null }) => void;
}

export class EngineProcess {
  /** How this process reaches it. */
  readonly address: EngineAddress;
  /** How all others do. */
  readonly noted: NotedEngine;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, folder: string, address: EngineAddress, noted: NotedEngine) {
    this.#child = child;
    this.#folder = folder;
    this.address = address;
    this.noted = noted;
  }

  /** Resolves when it takes requests. */
  static async launch({ onStuck, onExit, logger, ...settings }: EngineProcessOptions): Promise<EngineProcess> {
    const id = randomUUID();
    const secret = randomBytes(32).toString('base64url');
    const folder = join(settings.folder, id);
    await makeFolder(settings.folder);
    await makeFolder(folder);
    // DuckDB bounds its buffers, but not single values, such as a text of gigabytes: those fail by the limit of the process.
    const limitKiB = Math.ceil((settings.memoryBytesMax + besidesBytes) / 1024);
    const child = spawn('/bin/sh', [
      '-c', `${process.platform === 'linux' ? `ulimit -d ${limitKiB} && ` : ''}exec "$@"`, 'sh',
      process.execPath, `--max-old-space-size=${heapMiB}`, '--max-semi-space-size=8', '--expose-gc',
      // The threads of DuckDB need the processors: helpers of the collector would wait for these, and it for them.
      '--single-threaded-gc',
      // What is allocated while it marks in steps counts as used until the next time: while rows are copied it would mark all the time, which took a third of the thread.
      '--no-incremental-marking', main,
    ], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: { ...process.env, UV_THREADPOOL_SIZE: String(threadsOfPool) } });
    child.on('message', (message: EngineReady | EngineStuck) => {
      if ('stuck' in message) onStuck(message.stuck);
    });
    child.on('exit', (code, signal) => {
      // Copies are of no use to the next one. What cannot be removed now is later.
      void rm(folder, { recursive: true, force: true }).catch(() => undefined);
      onExit({ id, code, signal });
    });
    // Not as arguments, which every user of the machine sees.
    child.send({ ...settings, id, folder, secret } satisfies EngineSettings);
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('it ended while it started')));
    try {
      const [{ port }] = await Promise.race([once(child, 'message', { signal: AbortSignal.timeout(startMs) }), ended]) as [EngineReady];
      logger.info({ pid: child.pid }, 'the query engine has started');
      const url = (host: string): string => `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
      const { host } = settings;
      const machine = isLoopback(host) ? hostname() : null;
      return new EngineProcess(child, folder, { url: url(isEveryAddress(host) ? '127.0.0.1' : host), secret }, {
        id, secret, machine, url: url(isEveryAddress(host) ? addressOfMachine() : host),
      });
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  /** Ends it. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** An address at which other machines reach this one. If it has none, only its own processes do. */
function addressOfMachine(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((named) => named ?? []).filter(({ internal }) => !internal);
  return (addresses.find(({ family }) => family === 'IPv4') ?? addresses[0])?.address ?? '127.0.0.1';
}
