/** A Tablog process as its users run it: started, spoken to over HTTP, stopped by process ID. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface ServerOptions {
  /** Without it the server runs on an embedded Postgres in its folder. */
  readonly databaseUrl?: string;
  /** `DATA_DIR`; a new folder, removed by `stop`, when it is left out. */
  readonly folder?: string;
  readonly port?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Arguments of Node before the script. */
  readonly nodeArgs?: readonly string[];
}

export interface TestServer {
  readonly url: string;
  readonly folder: string;
  readonly process: ChildProcess;
  /** What it wrote so far, to stdout and stderr. */
  output(): string;
  /** The token of the first team; rejects when this server did not make it. */
  token(): Promise<string>;
  /** Ends it with SIGTERM and resolves with its exit code, or with another signal and resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Resolves when the server is ready. Rejects, with what it wrote, when it ends before. */
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

/** Starts several at once. When one of them cannot start, none is left running. */
export async function startServers(all: readonly ServerOptions[]): Promise<TestServer[]> {
  const started = await Promise.allSettled(all.map((options) => startServer(options)));
  const failed = started.find((result) => result.status === 'rejected');
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (!failed) return servers;
  await Promise.all(servers.map((server) => server.stop('SIGKILL')));
  throw failed.reason;
}

/** Starts the process and does not wait for it. */
export async function launchServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'tablog-test-')));
  const port = options.port ?? (await freePort());
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), main], {
    env: {
      ...process.env, DATABASE_URL: options.databaseUrl ?? '', DATA_DIR: folder, HOST: '127.0.0.1', PORT: String(port),
      LOG_LEVEL: 'warn', ...options.environment,
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
    url, folder, process: child,
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

/** Rejects, with what the server wrote, when it ends before it is ready. */
export async function untilReady({ url, process: child, output }: TestServer): Promise<void> {
  await sleepUntil(async () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended:\n${output()}`);
    return fetch(`${url}/readyz`).then((response) => response.ok, () => false);
  }, 'the server is ready', 180_000);
}

/**
 * The ports that tests give away lie below those that systems take for connections that go out, which may take one at any time. Each
 * worker of Jest has its own of them, and nobody is given the same one again soon.
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

/** Waits for a condition, never for a time. */
export async function sleepUntil(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out before ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
