/**
 * A pipelined Postgres connection: it sends statements without waiting for earlier answers. Statements issued together
 * leave in one packet, so a batch of statements costs one round trip.
 *
 * A slow statement holds up all behind it: scans and COPY never share a connection with other requests.
 */
import pg from 'pg';

/**
 * A statement that is prepared once per connection. A name belongs to one text only; `''`: not prepared.
 * @typeParam Row a row that it returns, by column name
 */
export interface Statement<Row extends object = object> {
  readonly name: string;
  readonly text: string;
  /** Never set. Exists only to carry the row type. */
  readonly row?: Row;
}

export interface StatementResult<Row extends object = object> {
  readonly rows: Row[];
  readonly rowCount: number;
  /** The command tag. `COMMIT` answers `ROLLBACK` when an earlier statement of the transaction failed. */
  readonly command: string;
}

/** bigint columns come as bigint: versions and offsets outgrow a double. */
export const postgresTypes = {
  getTypeParser(oid: number): unknown {
    return oid === 20 ? BigInt : pg.types.getTypeParser(oid, 'text');
  },
};

/** A connection to send statements on, inside or outside a transaction. */
export type Tx = Pick<PipelinedClient, 'query'>;

/**
 * When statements are flushed: at the end of the event loop turn, together with those of other requests (`turn`), or as
 * soon as the code that issues them waits (`wait`).
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

  /** The process ID of the backend that serves this connection. */
  get backendId(): number {
    return (this.#client as unknown as { processID: number }).processID;
  }

  /** Why this connection can no longer be used; null while it can. */
  get broken(): Error | null {
    return this.#broken;
  }

  /** How many statements are in flight. */
  get pending(): number {
    return this.#pending;
  }

  /** Whether nothing is in flight and no transaction is open: the connection can be lent out. */
  get free(): boolean {
    return this.#broken === null && this.#pending === 0 && this.#client.getTransactionStatus() === 'I';
  }

  /**
   * Sends a statement. Its rejection never counts as unhandled: in a pipeline the first failure also fails the
   * statements behind it, and callers await only the first.
   */
  query<Row extends object>(statement: Statement<Row>, values: readonly unknown[] = []): Promise<StatementResult<Row>> {
    this.#cork();
    const { name, text } = statement;
    const result = this.#client.query<Row>({ name, text, values: values as unknown[] });
    this.#pending += 1;
    const settled = (): void => {
      this.#pending -= 1;
    };
    result.then(settled, (error: Error) => {
      settled();
      // The server still runs the statement, so the connection is busy and must not be lent again.
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
    const { stream } = (this.#client as unknown as { connection: { stream: { cork(): void; uncork(): void } } })
      .connection;
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
