/**
 * A real Postgres without installation: its programs come from an npm package, its data is in a folder, and it runs
 * while a process uses it.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pause } from '../pause.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { openCluster, SUPERUSER, type Cluster } from './cluster.ts';
import { Lease } from './lease.ts';
import { endPostmaster, findPostmaster, launchPostmaster } from './postmaster.ts';
import { isAlive } from './processes.ts';
import { isStartupProgress, ServerLog } from './server-log.ts';
import { memoryOfMachine, serverSettings, sizeOfDisk } from './server-settings.ts';

const DATABASE = 'tablog';
const WATCH_INTERVAL_MS = 500;
const STOP_PATIENCE_MS = 30_000;

/**
 * Messages of temporary failures: the port was taken meanwhile, another process starts the server, or the memory of an
 * old server is still in use.
 */
const PASSING_FAILURE = /Address already in use|lock file ".*"|pre-existing shared memory block/;

interface EmbeddedPostgresOptions {
  /** The folder of the database, its password and the server's messages. Created if it does not exist. */
  readonly folder: string;
  /** Receives the server's messages, line by line. */
  readonly log: (line: string) => void;
  /** Settings of Postgres, which override `serverSettings`. A running server keeps its own. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * How long to wait until the server accepts connections, in milliseconds. While the server recovers after a crash,
   * each report of progress restarts the time.
   */
  readonly startTimeoutMs?: number;
}

export interface EmbeddedPostgres {
  /** `postgres://user:password@127.0.0.1:port/database`. The port changes with each start of the server. */
  readonly url: string;
  readonly pid: number;
  /** Whether another process started the server. That process may still use it. */
  readonly adopted: boolean;
  /**
   * Stops the server and resolves when it is gone. With `ifUnused`, stops it only if no other process is connected.
   * Resolves to whether the server stopped. Call it once, after closing this process's connections.
   */
  stop(options?: { readonly ifUnused?: boolean }): Promise<boolean>;
  /** Calls the listener once if the server ends without `stop` having been called. */
  onExit(listener: () => void): void;
}

/**
 * Starts the server of a folder, or joins a running one, which a killed process left or another process uses. Rejects
 * with EmbeddedPostgresError.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const timeoutMs = options.startTimeoutMs ?? 120_000;
  let deadline = Date.now() + timeoutMs;
  const cluster = await openCluster(options.folder, options.log);
  const settings = {
    ...serverSettings({ memory: memoryOfMachine(), disk: await sizeOfDisk(options.folder) }),
    ...options.settings,
  };
  const serverLog = await ServerLog.follow(cluster.serverLog, options.log);
  const recent: string[] = [];
  let child: ChildProcess | undefined;
  const readMessages = async (): Promise<void> => {
    const lines = await serverLog.drain();
    recent.push(...lines);
    if (lines.some(isStartupProgress)) deadline = Date.now() + timeoutMs;
  };

  try {
    while (Date.now() < deadline) {
      const found = await findPostmaster(cluster.data);
      if (found?.ready === true) {
        const url = `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${found.port}/${DATABASE}`;
        const lease = await Lease.take(url, cluster.data);
        if (lease !== undefined) {
          const adopted = found.pid !== child?.pid;
          return new RunningPostgres(url, found.pid, adopted, { cluster, serverLog, lease, log: options.log });
        }
      }
      if (child !== undefined && hasExited(child)) {
        await readMessages();
        // Exit code 0: the server became ready, and another process that used it has stopped it.
        const passing = child.exitCode === 0 || PASSING_FAILURE.test(recent.join('\n'));
        if (!passing) throw failure('Postgres does not start', cluster, recent);
        child = undefined;
        recent.length = 0;
        await sleep(100);
      }
      if (found === undefined && child === undefined) {
        child = await launchPostmaster(cluster, await findFreePort(), settings);
      }
      await sleep(10);
      await readMessages();
    }
    throw failure('Postgres did not become ready in time', cluster, recent);
  } catch (error) {
    if (child?.pid !== undefined && !hasExited(child)) await endPostmaster(child.pid, STOP_PATIENCE_MS);
    throw error;
  }
}

/** The resources of a running server. */
interface Belongings {
  readonly cluster: Cluster;
  readonly serverLog: ServerLog;
  readonly lease: Lease;
  readonly log: (line: string) => void;
}

class RunningPostgres implements EmbeddedPostgres {
  readonly url: string;
  readonly pid: number;
  readonly adopted: boolean;
  readonly #cluster: Cluster;
  readonly #serverLog: ServerLog;
  readonly #log: (line: string) => void;
  readonly #stopping = new AbortController();
  readonly #exited = Promise.withResolvers<void>();
  readonly #watching: Promise<void>;
  #lease: Lease;

  constructor(url: string, pid: number, adopted: boolean, { cluster, serverLog, lease, log }: Belongings) {
    this.url = url;
    this.pid = pid;
    this.adopted = adopted;
    this.#cluster = cluster;
    this.#serverLog = serverLog;
    this.#lease = lease;
    this.#log = log;
    this.#watching = this.#watch();
  }

  onExit(listener: () => void): void {
    void this.#exited.promise.then(listener);
  }

  async stop({ ifUnused = false } = {}): Promise<boolean> {
    this.#stopping.abort();
    await this.#watching;
    const stops = !ifUnused || (await this.#isUnused());
    // A process that arrives while this one stops the server waits for a lease, until the server ends.
    if (!ifUnused || !stops) await this.#lease.end();
    if (stops) await this.#end();
    await this.#lease.end();
    await this.#serverLog.drain();
    return stops;
  }

  async #end(): Promise<void> {
    // If the server has ended already, another process may have its PID.
    const found = await findPostmaster(this.#cluster.data);
    if (found?.pid === this.pid) await endPostmaster(this.pid, STOP_PATIENCE_MS);
  }

  /**
   * Whether no other process uses the server. Waits while the server recovers from the crash of one of its processes.
   */
  async #isUnused(): Promise<boolean> {
    for (
      const deadline = Date.now() + STOP_PATIENCE_MS;
      Date.now() < deadline && (await isAlive(this.pid));
      await sleep(100)
    ) {
      await this.#renewLease();
      try {
        if (!this.#lease.lost) return await this.#lease.excludeOthers();
      } catch (error) {
        if (!this.#lease.lost) throw error;
      }
    }
    return false;
  }

  /** Forwards messages, and checks that the server is alive, until `stop` is called. */
  async #watch(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#serverLog.drain();
        if (!(await isAlive(this.pid))) return this.#exited.resolve();
        await this.#renewLease();
      } catch (error) {
        this.#log(`Checking the embedded Postgres failed (the next check follows): ${String(error)}`);
      }
      await pause(WATCH_INTERVAL_MS, this.#stopping.signal);
    }
  }

  /** When one of its processes crashes, Postgres restarts all of them: the lease is lost, but the server lives on. */
  async #renewLease(): Promise<void> {
    if (this.#lease.lost) this.#lease = (await Lease.take(this.url, this.#cluster.data)) ?? this.#lease;
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function failure(problem: string, cluster: Cluster, recent: readonly string[]): Error {
  const messages = recent.slice(-20).map((line) => `\n  ${line}`);
  return new EmbeddedPostgresError(`${problem}. Its messages in ${cluster.serverLog} end with:${messages.join('')}`);
}
