/**
 * A Postgres connection on which statements go out without waiting for the answers of those before them. What is asked
 * for together leaves in one packet, so a batch of statements costs one round trip.
 *
 * One slow statement holds up all behind it: it serves point reads and the projector, never scans or COPY.
 */
import pg from 'pg';

/**
 * A statement that is prepared once on each connection. The name must belong to this text alone; `''`: not prepared.
 * @typeParam Row a row that it returns, by the names of its columns
 */
export interface Statement<Row extends object = object> {
  readonly name: string;
  readonly text: string;
  /** Never there: it says which rows belong to the text. */
  readonly row?: Row;
}

export interface StatementResult<Row extends object = object> {
  readonly rows: Row[];
  readonly rowCount: number;
  /** What Postgres says it did: `COMMIT` answers `ROLLBACK` when a statement before it had failed. */
  readonly command: string;
}

/** bigint columns come as bigint: versions and offsets outgrow a double. */
export const postgresTypes = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
    return oid === 20 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format as 'text');
  },
};

/** A connection to send statements on, inside or outside a transaction. */
export type Tx = Pick<PipelinedClient, 'query'>;

/**
 * When statements leave: at the end of the turn of the event loop, together with those of other requests, or as soon as
 * the code that asks for them waits.
 */
export type Flush = 'turn' | 'wait';

export class PipelinedClient {
  readonly #client: pg.Client;
  readonly #flush: Flush;
  #corked = false;
  #pending = 0;
  #broken: Error | null = null;

  private constructor(client: pg.Client, flush: Flush) {
    this.#client = client;
    this.#flush = flush;
    client.on('error', (error) => {
      this.#broken = error;
    });
    client.on('end', () => {
      this.#broken ??= new Error('the connection to Postgres has ended');
    });
  }

  /** Connects; rejects when Postgres is away. */
  static async connect(config: pg.ClientConfig, flush: Flush = 'wait'): Promise<PipelinedClient> {
    const client = new pg.Client({ ...config, pipeline: true, types: postgresTypes } as pg.ClientConfig);
    const pipelined = new PipelinedClient(client, flush);
    await client.connect();
    return pipelined;
  }

  /** The process of Postgres that serves this connection. */
  get backendId(): number {
    return (this.#client as unknown as { processID: number }).processID;
  }

  /** Why this connection can no longer be used; null while it can. */
  get broken(): Error | null {
    return this.#broken;
  }

  /** How many statements it was sent that it has not answered. */
  get pending(): number {
    return this.#pending;
  }

  /** Whether nothing is under way on it, and no transaction is open: it can be lent to somebody else. */
  get free(): boolean {
    return this.#broken === null && this.#pending === 0 && this.#client.getTransactionStatus() === 'I';
  }

  /**
   * Sends a statement. Its promise never counts as unhandled, because in a pipeline the first failure makes those behind
   * it fail too, and only the first is awaited.
   */
  query<Row extends object>(statement: Statement<Row>, values: readonly unknown[] = []): Promise<StatementResult<Row>> {
    this.#cork();
    const result = this.#client.query<Row>({ name: statement.name, text: statement.text, values: values as unknown[] });
    this.#pending += 1;
    const settled = (): void => {
      this.#pending -= 1;
    };
    result.then(settled, (error: Error) => {
      settled();
      // The statement goes on over there: nobody must be lent a connection that is busy with it.
      if (error.message === 'Query read timeout') this.destroy();
    });
    const answer = result.then((done) => {
      return { rows: done.rows, rowCount: done.rowCount ?? 0, command: done.command };
    });
    answer.catch(() => undefined);
    return answer;
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  /** Ends the connection at once, whatever it was doing. */
  destroy(): void {
    this.#broken ??= new Error('the connection was given up');
    (this.#client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  }

  #cork(): void {
    if (this.#corked) return;
    const { stream } = (this.#client as unknown as { connection: { stream: { cork(): void; uncork(): void } } }).connection;
    this.#corked = true;
    stream.cork();
    const uncork = (): void => {
      this.#corked = false;
      stream.uncork();
    };
    if (this.#flush === 'turn') setImmediate(uncork);
    else process.nextTick(uncork);
  }
}
