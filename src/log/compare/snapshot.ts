/** Reads one snapshot of a read model, in order and in bounded memory. */
import pg from 'pg';
import { postgresTypes } from '../../storage/database/pipelined-client.ts';

/** The schema of the read model does not exist. */
export class NoReadModel extends Error {
  override readonly name = 'NoReadModel';
}

/** How long a snapshot is used, in milliseconds. While it is open, Postgres keeps all rows that it can see. */
const snapshotMsMax = 60_000;

export class Snapshot {
  readonly #client: pg.Client;
  readonly #msMax: number;
  readonly #openedAt = performance.now();
  #cursors = 0;

  /**
   * The connection must return bigints (`postgresTypes`), and its transaction must have a single snapshot. `msMax`: how
   * long it should be used at most, in milliseconds.
   */
  constructor(client: pg.Client, msMax = Infinity) {
    this.#client = client;
    this.#msMax = msMax;
  }

  /** Whether the snapshot has been open for so long that another one should continue. */
  get isOld(): boolean {
    return performance.now() - this.#openedAt >= this.#msMax;
  }

  /** Whether half of its time has passed. */
  get isHalfOld(): boolean {
    return performance.now() - this.#openedAt >= this.#msMax / 2;
  }

  /**
   * Opens a snapshot: all reads through it see the state that was committed when it was opened. Rejects with
   * NoReadModel.
   */
  static async open(url: string, schema: string, msMax = snapshotMsMax): Promise<Snapshot> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'tablog verify',
      options: `-c search_path=${schema} -c jit=off`,
      types: postgresTypes,
      connectionTimeoutMillis: 5000,
    });
    // A broken connection fails the query that runs on it, or the next one.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('begin isolation level repeatable read read only');
      await client.query('select 1 from progress');
      return new Snapshot(client, msMax);
    } catch (error) {
      await client.end();
      if ((error as { code?: unknown }).code === '42P01') {
        throw new NoReadModel(
          'There is nothing to verify: this version of the service has never run on this database ' +
            '(see DATA_DIR and DATABASE_URL). Start it once, or have `tablog replay` make the tables from the log.',
        );
      }
      throw error;
    }
  }

  /** Runs `use` on a snapshot, and closes it. Rejects with NoReadModel. */
  static async with<T>(
    url: string,
    schema: string,
    use: (snapshot: Snapshot) => Promise<T>,
    msMax?: number,
  ): Promise<T> {
    const snapshot = await Snapshot.open(url, schema, msMax);
    try {
      return await use(snapshot);
    } finally {
      await snapshot.close();
    }
  }

  /** The next offset to project, by partition. */
  async progress(): Promise<ReadonlyMap<number, bigint>> {
    const rows = await this.query<{ partition: number; next: bigint }>(
      'select partition, next from progress order by partition',
    );
    return new Map(rows.map(({ partition, next }) => [partition, next]));
  }

  /** The rows of a query; for small results. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#client.query<Row>(text, [...values])).rows;
  }

  /** Streams the rows of a query, `atOnce` of them in memory. Other queries may run in the meantime. */
  async *stream<Row extends object>(
    text: string,
    atOnce: number,
    values: readonly unknown[] = [],
  ): AsyncGenerator<Row> {
    this.#cursors += 1;
    const cursor = `stream_${this.#cursors}`;
    await this.#client.query(`declare ${cursor} no scroll cursor for ${text}`, [...values]);
    for (;;) {
      const rows = await this.query<Row>(`fetch forward ${atOnce} from ${cursor}`);
      yield* rows;
      if (rows.length < atOnce) break;
    }
    await this.#client.query(`close ${cursor}`);
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
