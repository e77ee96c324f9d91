/** A service whose log moves while it serves, and while it and the command that moves the log are killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/storage/embedded/embedded-postgres.ts';
import type { LogKind } from '../../src/log/postgres/log-place.ts';
import { createTopic } from '../support/kafka/topics.ts';
import { killChild } from '../support/kill-child.ts';
import {
  freePort,
  launchServer,
  sleepUntil,
  untilReady,
  type ProcessRole,
  type TestServer,
} from '../support/server.ts';
import { runTablog } from '../support/tablog.ts';

interface Place {
  readonly role: ProcessRole;
  readonly port: number;
  server: TestServer;
}

/** How often something was killed while the log moved. */
export interface Killed {
  /** The command, before it had moved the log; and those of them while the log was closed. */
  command: number;
  whileClosed: number;
  /** A process that served. */
  serving: number;
}

export interface MoveOptions {
  /** How often the command is killed, if it does not end before that. */
  readonly kills: number;
  readonly random: () => number;
}

/** How long a process may take to notice that the log has moved, and to end, in milliseconds. */
const endMs = 120_000;

export class MovedService {
  readonly #roles: readonly ProcessRole[];
  readonly #folder: string;
  readonly #postgres: EmbeddedPostgres;
  readonly #ports: readonly number[];
  #kafka: Awaited<ReturnType<typeof createTopic>>;
  #log: LogKind;
  #places: Place[] = [];

  private constructor(
    roles: readonly ProcessRole[],
    folder: string,
    postgres: EmbeddedPostgres,
    kafka: Awaited<ReturnType<typeof createTopic>>,
    { log, ports }: { readonly log: LogKind; readonly ports: readonly number[] },
  ) {
    this.#roles = roles;
    this.#folder = folder;
    this.#postgres = postgres;
    this.#kafka = kafka;
    this.#log = log;
    this.#ports = ports;
  }

  /**
   * Starts it, with a new log. `roles`: those of its processes with the log in Kafka. With the log in Postgres each has
   * all roles, and there are as many as answer requests.
   */
  static async start(roles: readonly ProcessRole[], log: LogKind): Promise<MovedService> {
    const folder = await mkdtemp(join(tmpdir(), 'tablog-test-'));
    const [postgres, kafka] = await Promise.all([
      startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => undefined, settings: { fsync: 'off' } }),
      createTopic(),
    ]);
    const ports: number[] = [];
    while (ports.length < roles.length) ports.push(await freePort());
    const service = new MovedService(roles, folder, postgres, kafka, { log, ports });
    try {
      await service.serve();
      return service;
    } catch (error) {
      await service[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Where the log is. */
  get log(): LogKind {
    return this.#log;
  }

  /** The settings with which the command line finds it. */
  get environment(): Readonly<Record<string, string>> {
    return { ...this.#place, ...(this.#log === 'kafka' ? this.#kafka.environment : {}) };
  }

  /** Of the processes that answer requests. They do not change. */
  get urls(): readonly string[] {
    return this.#ports.filter((_, n) => this.#roles[n] !== 'projector').map((port) => `http://127.0.0.1:${port}`);
  }

  token(): Promise<string> {
    return this.#places[0]!.server.token();
  }

  /** Whether any process runs. */
  get isServing(): boolean {
    return this.#places.some(({ server }) => !hasEnded(server));
  }

  /** Starts processes where the log is, and waits until they are ready. */
  async serve(): Promise<void> {
    this.#places = [];
    for (const [n, inKafka] of this.#roles.entries()) {
      if (this.#log === 'postgres' && inKafka === 'projector') continue;
      const [role, port]: [ProcessRole, number] = [this.#log === 'kafka' ? inKafka : 'all', this.#ports[n]!];
      this.#places.push({ role, port, server: await this.launch(role, port, this.#log) });
    }
    await Promise.all(this.#places.map(({ server }) => untilReady(server)));
  }

  /** Starts a process with the settings for this log. */
  launch(ROLE: ProcessRole, port: number, log: LogKind): Promise<TestServer> {
    return launchServer({
      folder: this.#folder,
      port,
      environment: { ASYNC_WAIT_MS: '0', ...this.#place, ...(log === 'kafka' ? this.#kafka.environment : {}), ROLE },
    });
  }

  /**
   * Moves the log, and waits until all processes have ended. The command is killed, at any time or while the log is
   * closed, and so are processes that serve, which are started again at once. Resolves to what was killed.
   */
  async move({ kills, random }: MoveOptions): Promise<Killed> {
    const to = this.#log === 'kafka' ? 'postgres' : 'kafka';
    const killed: Killed = { command: 0, whileClosed: 0, serving: 0 };
    const [watcher, reader] = [
      new pg.Client({ connectionString: this.#postgres.url }),
      new pg.Client({ connectionString: this.#postgres.url }),
    ];
    await Promise.all([watcher.connect(), reader.connect()]);
    try {
      // A backup or a verification reads in one transaction for minutes.
      await reader.query('begin isolation level repeatable read');
      for (const table of ['tablog_log.records', `${readModelSchema}.progress`]) {
        const {
          rows: [found],
        } = await reader.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
        if (found!.there) await reader.query(`select from ${table} limit 1`);
      }
      while (!(await this.#run(to, { kills, random }, killed, watcher))) continue;
    } finally {
      await Promise.all([watcher.end(), reader.end()]);
    }
    await sleepUntil(() => !this.isServing, 'the processes that serve end', endMs);
    this.#log = to;
    return killed;
  }

  /** How the processes ended that served last, and what each wrote. */
  get endings(): readonly { readonly role: ProcessRole; readonly code: number | null; readonly output: string }[] {
    return this.#places.map(({ role, server }) => ({ role, code: server.process.exitCode, output: server.output() }));
  }

  /**
   * Names a new topic for the next move to Kafka: what a process appended behind the end of the former one, before it
   * knew, is no part of the log.
   */
  async useNewTopic(): Promise<void> {
    if (this.#log === 'kafka') throw new Error('the log is in the topic');
    await this.#kafka.drop();
    this.#kafka = await createTopic();
  }

  /** Stops the processes; resolves to their exit codes. */
  async stop(): Promise<(number | null)[]> {
    return Promise.all(this.#places.map(({ server }) => server.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#places.map(({ server }) => server.stop('SIGKILL')));
    await Promise.all([this.#postgres.stop(), this.#kafka.drop()]);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Where its read model is. With an embedded Postgres there is one process. */
  get #place(): Readonly<Record<string, string>> {
    return { DATA_DIR: this.#folder, DATABASE_URL: this.#roles.length === 1 ? '' : this.#postgres.url };
  }

  /** Runs the command once. Resolves to whether the log has moved. */
  async #run(to: LogKind, { kills, random }: MoveOptions, killed: Killed, watcher: pg.Client): Promise<boolean> {
    const running = runTablog(['log', 'move', '--to', to, '--json'], { ...this.#place, ...this.#kafka.environment });
    const hasEnded = (): boolean => running.child.exitCode !== null;
    const isClosed = async (): Promise<boolean> => (await watcher.query(selectClosed(to))).rowCount !== 0;
    if (killed.command < kills) {
      if (random() < 0.5) {
        // If the one before was killed while the log was closed, it opens it first.
        await sleepUntil(async () => hasEnded() || !(await isClosed()), 'the log is open');
        await sleepUntil(async () => hasEnded() || (await isClosed()), 'the log is closed');
      } else await Promise.race([running, sleep(random() * 2500)]);
      await sleep(random() * 50);
      if (random() < 0.4) {
        const place = this.#places[Math.floor(random() * this.#places.length)]!;
        // It may have ended by itself, because the log has moved.
        await killChild(place.server.process);
        place.server = await this.launch(place.role, place.port, this.#log);
        killed.serving += 1;
      }
      if (!hasEnded()) {
        const wasClosed = await isClosed();
        running.child.kill('SIGKILL');
        await running;
        if (await this.#hasMoved(watcher, to)) return true;
        killed.command += 1;
        if (wasClosed) killed.whileClosed += 1;
        return false;
      }
    }
    const { code, stdout, stderr } = await running;
    process.stderr.write(stdout);
    if (code !== 0) throw new Error(`the log was not moved to ${to}: ${stderr}`);
    return true;
  }

  async #hasMoved(watcher: pg.Client, to: LogKind): Promise<boolean> {
    const {
      rows: [found],
    } = await watcher.query<{ there: boolean }>(`select to_regclass('tablog_log.place') is not null as there`);
    return found!.there && (await watcher.query('select from tablog_log.place where log = $1', [to])).rowCount === 1;
  }
}

/** Finds a row while the log is closed that is to move. */
function selectClosed(to: LogKind): string {
  const [schema, table] = to === 'kafka' ? ['tablog_log', 'records'] : [readModelSchema, 'progress'];
  return `select from pg_trigger join pg_class on pg_class.oid = tgrelid
  join pg_namespace on pg_namespace.oid = relnamespace
    where tgname = 'log_is_closed' and tgenabled <> 'D' and nspname = '${schema}' and relname = '${table}'`;
}

function hasEnded({ process: { exitCode, signalCode } }: TestServer): boolean {
  return exitCode !== null || signalCode !== null;
}
