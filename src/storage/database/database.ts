/**
 * The connections to one read model: a pool for scans, maintenance and administration, and pipelined connections for
 * point reads and for the projector. The read model is the Postgres schema on their search path.
 */
import pg from 'pg';
import { HistoryGuard } from './history.ts';
import { Listener } from './listener.ts';
import { isLongWork } from './long-work.ts';
import { refuseSecond } from './one-connection.ts';
import { PipelinedClient, type Flush } from './pipelined-client.ts';
import { PipelinedPool } from './pipelined-pool.ts';
import { PipelinedReader } from './pipelined-reader.ts';

export interface DatabaseOptions {
  readonly url: string;
  /** The Postgres schema of the read model. */
  readonly schema: string;
  /** How many projector transactions may be open at once. */
  readonly writersMax?: number;
  /** How many connections the pool may hold. */
  readonly poolMax?: number;
  /** False lets commits return before they are on disk, for data that can be rebuilt from the log (a replay). */
  readonly synchronousCommit?: boolean;
  /** Time limit of a statement, in milliseconds; 0: none. */
  readonly queryTimeout?: number;
  /**
   * Makes transactions read-only by default. Code that sends its own SQL can undo this; only a role without the right
   * to write is a real barrier.
   */
  readonly readOnly?: boolean;
}

/**
 * Generic plans, and no JIT for such short statements: measured to save a fifth of the time. Every hot statement is a
 * chain of index probes, but the planner cannot know that while a new table has no statistics.
 */
const sessionSettings = [
  'plan_cache_mode=force_generic_plan',
  'jit=off',
  'client_min_messages=warning',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
];

/**
 * Default time limit of a statement, in milliseconds. If a statement takes longer, its server counts as lost and its
 * connection is destroyed.
 */
const queryTimeout = 20_000;

/** How many slow reads run at once. */
export const scansAtOnce = 8;

const withoutFlush = 'synchronous_commit=off';

type Connections = Pick<Database, 'reader' | 'writers' | 'scans' | 'fills'>;

function configOf(url: string, settings: readonly string[]): pg.ClientConfig {
  return {
    connectionString: url,
    options: settings.map((setting) => `-c ${setting}`).join(' '),
    application_name: 'tablog',
    connectionTimeoutMillis: 5000,
    // Detects that the other machine is gone, even while a connection waits for an answer: the first probe is sent
    // after 10 s of silence.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/**
 * The pool of a database. Lends no second connection to a task that holds one (one-connection.ts). `query` has a time
 * limit, except for long work (long-work.ts); connections that are lent have none.
 */
class GuardedPool extends pg.Pool {
  constructor(config: pg.PoolConfig, limit: QueryLimit) {
    super(config);
    const unlimited = this.query.bind(this) as (statement: unknown, ...rest: unknown[]) => Promise<pg.QueryResult>;
    const query: typeof unlimited = (statement, ...rest) =>
      unlimited(isLongWork() ? statement : limited(statement, limit), ...rest);
    this.query = query as typeof this.query;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    refuseSecond(this);
    return callback === undefined ? super.connect() : super.connect(callback);
  }
}

type ConnectCallback = Parameters<pg.Pool['connect']>[0];

/**
 * How long the driver waits for the answer to a statement, in milliseconds. After that the connection is unusable. 0:
 * no limit.
 */
type QueryLimit = Required<Pick<pg.ClientConfig, 'query_timeout'>>;

/** The statement with the limit, unless it has one of its own. */
function limited(statement: unknown, limit: QueryLimit): unknown {
  return typeof statement === 'string' ? { text: statement, ...limit } : { ...limit, ...(statement as object) };
}

export class Database {
  readonly schema: string;
  readonly pool: pg.Pool;
  /**
   * Checks each new connection, so that no process reads or writes after the database went on from another history.
   * Connections of the pool skip the check for a restart of the server, because `tablog log resume` uses the pool to
   * resume a log that lost commits.
   */
  readonly history: HistoryGuard;
  /** Point reads. */
  readonly reader: PipelinedReader;
  /** Transactions of the log and the projector. */
  readonly writers: PipelinedPool;
  /** Pages of rows, which may be slow: each gets a connection of its own. */
  readonly scans: PipelinedPool;
  /**
   * Bulk writes of rows, ahead of the event that references them. They need not wait for the disk: the commit of that
   * event flushes everything written before it.
   */
  readonly fills: PipelinedPool;
  readonly #url: string;

  private constructor(url: string, schema: string, pool: pg.Pool, history: HistoryGuard, connections: Connections) {
    this.#url = url;
    this.schema = schema;
    this.pool = pool;
    this.history = history;
    this.reader = connections.reader;
    this.writers = connections.writers;
    this.scans = connections.scans;
    this.fills = connections.fills;
  }

  /** Connects; rejects when Postgres is away. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const readOnly = options.readOnly === true ? ['default_transaction_read_only=on'] : [];
    const settings = [...sessionSettings, ...readOnly, `search_path=${options.schema}`];
    const config = configOf(options.url, options.synchronousCommit === false ? [...settings, withoutFlush] : settings);
    const history = new HistoryGuard();
    const checked = async (connecting: Promise<PipelinedClient>): Promise<PipelinedClient> => {
      const client = await connecting;
      try {
        await history.checkAfterRestart(client);
        return client;
      } catch (error) {
        client.destroy();
        throw error;
      }
    };
    const limit = { query_timeout: options.queryTimeout ?? queryTimeout };
    const connect = (flush?: Flush): Promise<PipelinedClient> =>
      checked(PipelinedClient.connect({ ...config, ...limit }, flush));
    const fill = (): Promise<PipelinedClient> =>
      checked(PipelinedClient.connect({ ...configOf(options.url, [...settings, withoutFlush]), ...limit }));
    const check = (client: pg.ClientBase): Promise<void> =>
      history.check({ query: (statement) => client.query({ ...statement, ...limit }) });
    // oxlint-disable-next-line typescript/no-misused-promises -- The pool waits for it.
    const pool = new GuardedPool({ ...config, max: options.poolMax ?? 8, onConnect: check }, limit);
    // If a connection breaks, the query that runs on it fails. The pool replaces a broken idle connection.
    pool.on('connect', (client) => client.on('error', () => undefined));
    pool.on('error', () => undefined);
    try {
      (await pool.connect()).release();
    } catch (error) {
      await pool.end();
      throw error;
    }
    return new Database(options.url, options.schema, pool, history, {
      reader: new PipelinedReader(() => connect('turn'), 4),
      writers: new PipelinedPool(connect, options.writersMax ?? 4),
      scans: new PipelinedPool(connect, scansAtOnce),
      fills: new PipelinedPool(fill, 4),
    });
  }

  /** Listens to a channel: `hear` gets the payloads. The caller closes the listener. Rejects when Postgres is away. */
  listen(channel: string, hear: (payload: string) => void): Promise<Pick<Listener, 'close'>> {
    return Listener.open(
      { ...configOf(this.#url, []), application_name: 'tablog listener', query_timeout: queryTimeout },
      channel,
      hear,
    );
  }

  /**
   * Gives a task a connection of its own, for locks that it holds while it works with the pool. The connection is
   * closed afterwards, and its locks end with it. Rejects when Postgres is away, and as `work` does.
   */
  async withSession<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    const client = new pg.Client(configOf(this.#url, [...sessionSettings, `search_path=${this.schema}`]));
    // A session that breaks fails the next query on it.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await this.history.check(client);
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.reader.close(), this.writers.close(), this.scans.close(), this.fills.close()]);
    await this.pool.end();
  }
}
