/**
 * The connections of a simulated process to the model of Postgres, with those methods of its own connections that the
 * service uses.
 */
import type pg from 'pg';
import type { Database } from '../../src/storage/database/database.ts';
import { HistoryGuard } from '../../src/storage/database/history.ts';
import type { PipelinedClient, Statement } from '../../src/storage/database/pipelined-client.ts';
import { PipelinedPool } from '../../src/storage/database/pipelined-pool.ts';
import { PipelinedReader } from '../../src/storage/database/pipelined-reader.ts';
import { clock, type SimulatedProcess } from './clock.ts';
import { writersMax } from './partitions.ts';
import { Session, type PostgresServer, type Result } from './postgres.ts';
import type { TableRow } from './view.ts';

function connectionEnded(): Error {
  return new Error('Connection terminated unexpectedly');
}

/** A connection: statements arrive in order, and so do answers. */
class Connection {
  readonly #session: Session;
  readonly #process: SimulatedProcess;
  #broken: Error | null = null;
  #pending = 0;
  #arrivesAt = 0;
  #answersAt = 0;
  /** When it was opened, or when its last answer came. */
  idleSince = clock.now;
  readonly #failing = new Set<(error: Error) => void>();

  constructor(session: Session, process: SimulatedProcess) {
    this.#session = session;
    this.#process = process;
    session.onEnd = () => clock.schedule(this.#latency(), () => this.#break(), process);
  }

  /** Rejects when the server is away. */
  static async open(server: PostgresServer, process: SimulatedProcess, readModel: string): Promise<Connection> {
    await clock.sleep(server.random.between(0.1, 1));
    if (server.away) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    return new Connection(new Session(server, readModel), process);
  }

  get backendId(): number {
    return this.#session.id;
  }

  get broken(): Error | null {
    return this.#broken;
  }

  get pending(): number {
    return this.#pending;
  }

  get free(): boolean {
    return this.#broken === null && this.#pending === 0 && !this.#session.isInTransaction;
  }

  query(statement: Statement, values: readonly unknown[] = []): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    promise.catch(() => undefined);
    if (this.#broken !== null) {
      reject(this.#broken);
      return promise;
    }
    this.#pending += 1;
    const settle = (run: () => void): void => {
      this.#failing.delete(reject);
      this.#pending -= 1;
      this.idleSince = clock.now;
      run();
    };
    this.#failing.add(reject);
    const answer = (run: () => void): void => {
      this.#answersAt = Math.max(this.#answersAt, clock.now + this.#latency());
      clock.schedule(
        this.#answersAt - clock.now,
        () => (this.#broken === null ? settle(run) : undefined),
        this.#process,
      );
    };
    this.#arrivesAt = Math.max(this.#arrivesAt, clock.now + this.#latency());
    clock.schedule(
      this.#arrivesAt - clock.now,
      () => {
        if (!this.#session.isAlive) return;
        this.#session.run(statement, values).then(
          (result) => answer(() => resolve(result)),
          (error: Error) => answer(() => reject(error)),
        );
      },
      null,
    );
    return promise;
  }

  async close(): Promise<void> {
    this.destroy();
  }

  /** Closes the connection. The backend ends a moment later, and may still run statements that arrived earlier. */
  destroy(): void {
    this.#break();
    clock.schedule(this.#latency(), () => this.#session.end(), null);
  }

  /** Cuts the line. The server does not know yet. */
  cut(): void {
    this.#break();
    clock.schedule(this.#session.server.random.between(0, 3000), () => this.#session.end(), null);
  }

  #break(): void {
    if (this.#broken !== null) return;
    this.#broken = connectionEnded();
    for (const fail of this.#failing) fail(this.#broken);
    this.#failing.clear();
    this.#pending = 0;
  }

  #latency(): number {
    return this.#session.server.random.between(0.05, 0.6);
  }
}

/**
 * If all connections of a pool are lent and idle for this long while tasks wait for one, the pool is starved. In
 * milliseconds.
 */
const starvedAfter = 5000;

/** A pool of the service whose use can be observed. */
class WatchedPool extends PipelinedPool {
  readonly name: string;
  readonly max: number;
  readonly #lent = new Set<Connection>();
  #waiting = 0;

  constructor(name: string, connect: () => Promise<PipelinedClient>, max: number) {
    super(connect, max);
    this.name = name;
    this.max = max;
  }

  override async with<T>(use: (client: PipelinedClient) => Promise<T>): Promise<T> {
    let isWaiting = true;
    this.#waiting += 1;
    try {
      return await super.with(async (client) => {
        const connection = client as unknown as Connection;
        isWaiting = false;
        this.#waiting -= 1;
        this.#lent.add(connection);
        try {
          return await use(client);
        } finally {
          this.#lent.delete(connection);
        }
      });
    } finally {
      if (isWaiting) this.#waiting -= 1;
    }
  }

  /** Whether all connections have been lent and unused since then while a task waits for one. */
  isStarvedSince(time: number): boolean {
    return (
      this.#waiting > 0 &&
      this.#lent.size === this.max &&
      [...this.#lent].every(({ pending, idleSince }) => pending === 0 && idleSince < time)
    );
  }

  get waiting(): number {
    return this.#waiting;
  }
}

/** pg's pool returns 64-bit integers as texts. */
function asTexts({ rows, rowCount }: Result): { rows: TableRow[]; rowCount: number } {
  return {
    rowCount,
    rows: rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
      ),
    ),
  };
}

type PoolQuery = string | { readonly name?: string; readonly text: string; readonly values?: readonly unknown[] };

function statementOf(query: PoolQuery, values: readonly unknown[] = []): [Statement, readonly unknown[]] {
  return typeof query === 'string'
    ? [{ name: '', text: query }, values]
    : [{ name: query.name ?? '', text: query.text }, query.values ?? values];
}

/** A connection with the methods of pg's client. */
export class SimulatedPgClient {
  readonly #opening: () => Promise<Connection>;
  #connection: Connection | null = null;

  /** `open`: connects to the server. */
  constructor(open: () => Promise<Connection>) {
    this.#opening = open;
  }

  on(): this {
    return this;
  }

  async connect(): Promise<void> {
    this.#connection = await this.#opening();
  }

  async query(text: PoolQuery, values?: readonly unknown[]): Promise<unknown> {
    return asTexts(await this.#connection!.query(...statementOf(text, values)));
  }

  async end(): Promise<void> {
    await this.#connection?.close();
  }
}

export class SimulatedDatabase {
  readonly schema: string;
  readonly history = new HistoryGuard();
  readonly reader: PipelinedReader;
  readonly writers: WatchedPool;
  readonly scans: WatchedPool;
  readonly fills: WatchedPool;
  readonly pool: pg.Pool;
  readonly #server: PostgresServer;
  readonly #process: SimulatedProcess;
  readonly #open = new Set<Connection>();
  readonly #pools: readonly WatchedPool[];

  /** `schema`: the schema of the read model. */
  constructor(server: PostgresServer, process: SimulatedProcess, schema: string) {
    this.schema = schema;
    this.#server = server;
    this.#process = process;
    const connecting = async (): Promise<PipelinedClient> => (await this.#connect()) as unknown as PipelinedClient;
    const connect = async (): Promise<PipelinedClient> => {
      const client = await connecting();
      await this.history.checkAfterRestart(client);
      return client;
    };
    const connectPooled = async (): Promise<PipelinedClient> => {
      const client = await connecting();
      await this.history.check(client);
      return client;
    };
    this.reader = new PipelinedReader(connect, 1);
    [this.writers, this.scans, this.fills] = [
      new WatchedPool('writers', connect, writersMax),
      new WatchedPool('scans', connect, 4),
      new WatchedPool('fills', connect, 4),
    ];
    const pooled = new WatchedPool('pool', connectPooled, 8);
    this.#pools = [this.writers, this.scans, this.fills, pooled];
    const query = async (client: PipelinedClient, text: PoolQuery, values?: readonly unknown[]): Promise<unknown> => {
      return asTexts((await client.query(...statementOf(text, values))) as unknown as Result);
    };
    this.pool = {
      query: (text: PoolQuery, values?: readonly unknown[]) => pooled.with((client) => query(client, text, values)),
      connect: () =>
        new Promise((resolve, reject) => {
          const lending = pooled.with(
            (client) =>
              new Promise<void>((release) => {
                resolve({
                  query: (text: PoolQuery, values?: readonly unknown[]) => query(client, text, values),
                  release: () => release(),
                });
              }),
          );
          lending.catch(reject);
        }),
    } as unknown as pg.Pool;
  }

  /** This object, typed as the class of the service. */
  get asDatabase(): Database {
    return this as unknown as Database;
  }

  async listen(channel: string, hear: (payload: string) => void): Promise<{ close(): Promise<void> }> {
    const listener = (to: string, payload: string): void => {
      // If the connection breaks at this moment, a notification is lost.
      if (to === channel && this.#server.random.chance(0.98))
        clock.schedule(this.#server.random.between(0.1, 1), () => hear(payload), this.#process);
    };
    this.#server.listeners.add(listener);
    return {
      close: async () => {
        this.#server.listeners.delete(listener);
      },
    };
  }

  /** Gives a task its own connection, as the class of the service does. */
  async withSession<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    const client = this.client();
    await client.connect();
    try {
      return await work(client as unknown as pg.ClientBase);
    } finally {
      await client.end();
    }
  }

  /** A connection that is not yet open. */
  client(): SimulatedPgClient {
    return new SimulatedPgClient(() => this.#connect());
  }

  async close(): Promise<void> {
    for (const connection of this.#open) connection.destroy();
    this.#open.clear();
  }

  /**
   * The pools that will never lend a connection again, because each holder of one waits for another; one sentence each.
   */
  starved(): string[] {
    const { isAlive, isPaused, runsSince, name } = this.#process;
    const since = clock.now - starvedAfter;
    if (!isAlive || isPaused || runsSince > since) return [];
    return this.#pools
      .filter((pool) => pool.isStarvedSince(since))
      .map((pool) => {
        return `${name}: all ${pool.max} connections of \`${pool.name}\` are lent and have done nothing for ${starvedAfter} ms, and ${pool.waiting} wait for one`;
      });
  }

  /** Cuts the lines of all connections. */
  cut(): void {
    for (const connection of this.#open) connection.cut();
    this.#open.clear();
  }

  async #connect(): Promise<Connection> {
    const connection = await Connection.open(this.#server, this.#process, this.schema);
    this.#open.add(connection);
    return connection;
  }
}
