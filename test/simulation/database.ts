/** The connections of a simulated process to the model of Postgres, with the methods that the service uses of its own. */
import type pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import type { Database } from '../../src/database/database.ts';
import { HistoryGuard } from '../../src/database/history.ts';
import type { PipelinedClient, Statement } from '../../src/database/pipelined-client.ts';
import { PipelinedPool } from '../../src/database/pipelined-pool.ts';
import { PipelinedReader } from '../../src/database/pipelined-reader.ts';
import { clock, type SimulatedProcess } from './clock.ts';
import { Session, type PostgresServer, type Result } from './postgres.ts';
import type { Row } from './view.ts';

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
  readonly #failing = new Set<(error: Error) => void>();

  constructor(session: Session, process: SimulatedProcess) {
    this.#session = session;
    this.#process = process;
    session.onEnd = () => clock.schedule(this.#latency(), () => this.#break(), process);
  }

  /** Rejects when the server is away. */
  static async open(server: PostgresServer, process: SimulatedProcess): Promise<Connection> {
    await clock.sleep(server.random.between(0.1, 1));
    if (server.away) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    return new Connection(new Session(server), process);
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
      run();
    };
    this.#failing.add(reject);
    const answer = (run: () => void): void => {
      this.#answersAt = Math.max(this.#answersAt, clock.now + this.#latency());
      clock.schedule(this.#answersAt - clock.now, () => (this.#broken === null ? settle(run) : undefined), this.#process);
    };
    this.#arrivesAt = Math.max(this.#arrivesAt, clock.now + this.#latency());
    clock.schedule(this.#arrivesAt - clock.now, () => {
      if (!this.#session.isAlive) return;
      this.#session.run(statement, values).then((result) => answer(() => resolve(result)), (error: Error) => answer(() => reject(error)));
    }, null);
    return promise;
  }

  async close(): Promise<void> {
    this.destroy();
  }

  /** Closes the connection. The backend ends a moment later, and may run statements that arrived before. */
  destroy(): void {
    this.#break();
    clock.schedule(this.#latency(), () => this.#session.end(), null);
  }

  /** The line is cut, and the server does not know yet. */
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

/** pg's pool gives 64-bit integers as texts. */
function asTexts({ rows, rowCount }: Result): { rows: Row[]; rowCount: number } {
  return {
    rowCount,
    rows: rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]))),
  };
}

type PoolQuery = string | { readonly name?: string; readonly text: string; readonly values?: readonly unknown[] };

function statementOf(query: PoolQuery, values: readonly unknown[] = []): [Statement, readonly unknown[]] {
  return typeof query === 'string' ? [{ name: '', text: query }, values] : [{ name: query.name ?? '', text: query.text }, query.values ?? values];
}

export class SimulatedDatabase {
  readonly schema = readModelSchema;
  readonly history = new HistoryGuard();
  readonly reader: PipelinedReader;
  readonly writers: PipelinedPool;
  readonly scans: PipelinedPool;
  readonly fills: PipelinedPool;
  readonly pool: pg.Pool;
  readonly #server: PostgresServer;
  readonly #process: SimulatedProcess;
  readonly #open = new Set<Connection>();

  constructor(server: PostgresServer, process: SimulatedProcess) {
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
    [this.writers, this.scans, this.fills] = [new PipelinedPool(connect, 4), new PipelinedPool(connect, 4), new PipelinedPool(connect, 4)];
    const pooled = new PipelinedPool(connectPooled, 8);
    const query = async (client: PipelinedClient, text: PoolQuery, values?: readonly unknown[]): Promise<unknown> => {
      return asTexts((await client.query(...statementOf(text, values))) as unknown as Result);
    };
    this.pool = {
      query: (text: PoolQuery, values?: readonly unknown[]) => pooled.with((client) => query(client, text, values)),
      connect: async () => {
        const client = await connectPooled();
        return { query: (text: PoolQuery, values?: readonly unknown[]) => query(client, text, values), release: () => client.destroy() };
      },
    } as unknown as pg.Pool;
  }

  /** As the class of the service. */
  get asDatabase(): Database {
    return this as unknown as Database;
  }

  async listen(channel: string, hear: (payload: string) => void): Promise<{ close(): Promise<void> }> {
    const listener = (to: string, payload: string): void => {
      // A notification is lost when the connection breaks just then.
      if (to === channel && this.#server.random.chance(0.98)) clock.schedule(this.#server.random.between(0.1, 1), () => hear(payload), this.#process);
    };
    this.#server.listeners.add(listener);
    return {
      close: async () => {
        this.#server.listeners.delete(listener);
      },
    };
  }

  /** Cuts the lines of all connections. */
  cut(): void {
    for (const connection of this.#open) connection.cut();
    this.#open.clear();
  }

  async #connect(): Promise<Connection> {
    const connection = await Connection.open(this.#server, this.#process);
    this.#open.add(connection);
    return connection;
  }
}
