/** A real Postgres for those who have none: from an npm package, in a folder, for as long as somebody uses it. */
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
import { ServerLog } from './server-log.ts';

const DATABASE = 'tablog';
const WATCH_INTERVAL_MS = 500;
const STOP_PATIENCE_MS = 30_000;

/** A small server that shares its machine. What makes a commit durable (fsync, synchronous_commit) stays as it is. */
const SMALL_SERVER: Readonly<Record<string, string>> = {
  max_connections: '100',
  shared_buffers: '64MB',
  huge_pages: 'off',
  jit: 'off',
  // Parallel queries need shared memory files, for which a container has 64 MB by default.
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // New files of the write-ahead log have to be filled with zeros first, which holds up every commit: these are used again.
  min_wal_size: '256MB',
  max_wal_size: '256MB',
  log_checkpoints: 'off',
};

/** Failures that pass: the port was taken meanwhile, another process is starting, an old one's memory is in use. */
const PASSING_FAILURE = /Address already in use|lock file ".*"|pre-existing shared memory block/;

export interface EmbeddedPostgresOptions {
  /** The database lives here, with its password and the server's messages. Made if it is not there. */
  readonly folder: string;
  /** Takes the server's messages, a line at a time. */
  readonly log: (line: string) => void;
  /** Settings of Postgres, over the defaults for a small server. A server that runs already keeps its own. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long to wait until it takes connections, recovery after a crash included (milliseconds). */
  readonly startTimeoutMs?: number;
}

export interface EmbeddedPostgres {
  /** `postgres://user:password@127.0.0.1:port/database`. The port is another one after each start of the server. */
  readonly url: string;
  readonly pid: number;
  /** Whether another process had started it, which may still use it. */
  readonly adopted: boolean;
  /**
   * Stops the server and resolves when it is gone; with `ifUnused`, only if nobody else is connected. Says whether it
   * did. To be called once, after the own connections are closed.
   */
  stop(options?: { readonly ifUnused?: boolean }): Promise<boolean>;
  /** Calls the listener once if the server ends without `stop` having been called. */
  onExit(listener: () => void): void;
}

/**
 * Starts the server of a folder, or joins the one that runs there: one that a killed process left, or one that another
 * process uses. Rejects with a message that says what to do.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const deadline = Date.now() + (options.startTimeoutMs ?? 120_000);
  const cluster = await openCluster(options.folder, options.log);
  const serverLog = await ServerLog.follow(cluster.serverLog, options.log);
  const recent: string[] = [];
  let child: ChildProcess | undefined;

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
        recent.push(...(await serverLog.drain()));
        // With 0 it was ready, and another process that used it has stopped it.
        const passing = child.exitCode === 0 || PASSING_FAILURE.test(recent.join('\n'));
        if (!passing) throw failure('Postgres does not start', cluster, recent);
        child = undefined;
        recent.length = 0;
        await sleep(100);
      }
      if (found === undefined && child === undefined) {
        child = await launchPostmaster(cluster, await findFreePort(), { ...SMALL_SERVER, ...options.settings });
      }
      await sleep(10);
    }
    recent.push(...(await serverLog.drain()));
    throw failure('Postgres did not become ready in time', cluster, recent);
  } catch (error) {
    if (child?.pid !== undefined && !hasExited(child)) await endPostmaster(child.pid, STOP_PATIENCE_MS);
    throw error;
  }
}

/** What a running server is looked after with. */
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
    // Whoever comes while the last one leaves waits for its lease, which then ends with the server.
    if (!ifUnused || !stops) await this.#lease.end();
    if (stops) await this.#end();
    await this.#lease.end();
    await this.#serverLog.drain();
    return stops;
  }

  async #end(): Promise<void> {
    // If it has ended already, its number may be another process's.
    const found = await findPostmaster(this.#cluster.data);
    if (found?.pid === this.pid) await endPostmaster(this.pid, STOP_PATIENCE_MS);
  }

  async #isUnused(): Promise<boolean> {
    await this.#renewLease();
    return !this.#lease.lost && (await this.#lease.excludeOthers());
  }

  /** Hands on messages, and looks whether the server lives, until `stop` is called. */
  async #watch(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#serverLog.drain();
        if (!(await isAlive(this.pid))) return this.#exited.resolve();
        await this.#renewLease();
      } catch (error) {
        this.#log(`Cannot look after Postgres: ${String(error)}`);
      }
      await pause(WATCH_INTERVAL_MS, this.#stopping.signal);
    }
  }

  /** The lease is lost without the server when one of its processes crashes: then it restarts them all. */
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
