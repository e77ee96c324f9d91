/** Runs Tablog as its users do: as a process that is used over HTTP and stopped by a signal. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../src/app/config.ts';
import { limitMs } from './time-limits.ts';

const ownMain = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** What a process does, as the setting `ROLE` says it. */
export type ProcessRole = Config['ROLE'];

export interface ServerOptions {
  /** If omitted, the server runs on an embedded Postgres in its folder. */
  readonly databaseUrl?: string;
  /** `DATA_DIR`; if omitted, a new folder that `stop` removes. */
  readonly folder?: string;
  readonly port?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Arguments for Node, before the script. */
  readonly nodeArgs?: readonly string[];
  /** The script; if omitted, the one of this repository. */
  readonly main?: string;
}

export interface TestServer {
  readonly url: string;
  readonly folder: string;
  readonly process: ChildProcess;
  /** Its output so far, on stdout and stderr. */
  output(): string;
  /** The token of the first team. Rejects if this server did not create it. */
  token(): Promise<string>;
  /** Sends SIGTERM and resolves to the exit code, or sends another signal and resolves when the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Resolves when the server is ready. Rejects, with the server's output, if it ends before that. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const server = await launchServer(options);
  try {
    await untilReady(server);
    return server;
  } catch (error) {
    await server.stop('SIGKILL');
    throw error;
  }
}

/** Starts several servers concurrently. If one does not start, stops the others. */
export async function startServers(all: readonly ServerOptions[]): Promise<TestServer[]> {
  const started = await Promise.allSettled(all.map((options) => startServer(options)));
  const failed = started.find((result) => result.status === 'rejected');
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (!failed) return servers;
  await Promise.all(servers.map((server) => server.stop('SIGKILL')));
  throw failed.reason;
}

/** Starts the process without waiting until it is ready. */
export async function launchServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'tablog-test-')));
  const port = options.port ?? (await freePort());
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), options.main ?? ownMain], {
    env: {
      ...process.env,
      DATABASE_URL: options.databaseUrl ?? '',
      DATA_DIR: folder,
      HOST: '127.0.0.1',
      PORT: String(port),
      LOG_LEVEL: 'warn',
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    folder,
    process: child,
    output: () => output,
    token: async () => (await readFile(join(folder, 'token'), 'utf8')).trim(),
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await once(child, 'exit');
      }
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
      return child.exitCode;
    },
  };
}

/** Rejects, with the server's output, if it ends before it is ready. */
export async function untilReady({ url, process: child, output }: TestServer): Promise<void> {
  await sleepUntil(
    async () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended:\n${output()}`);
      return fetch(`${url}/readyz`).then(
        (response) => response.ok,
        () => false,
      );
    },
    'the server is ready',
    180_000,
  );
}

/**
 * Ports for tests are below the ephemeral range, from which the system may take a port at any time. Each Jest worker
 * has its own range, and does not reuse a port soon.
 */
const portsOfWorker = 1500;
const firstPort = 20_000 + (Number(process.env['JEST_WORKER_ID'] ?? 0) % 8) * portsOfWorker;
let portsTried = randomInt(portsOfWorker);

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + (portsTried % portsOfWorker);
    portsTried += 1;
    const server = createServer();
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}

/**
 * Polls until a condition holds, because tests never wait for a fixed time. `timeoutMs` follows the speed of the
 * machine.
 */
export async function sleepUntil(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + limitMs(timeoutMs);
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out before ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
