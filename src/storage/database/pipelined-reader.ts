/**
 * Point reads over a few pipelined connections, which are opened on demand and reopened after they break. The reader
 * uses the next connection only when the earlier ones are busy: the more statements share a packet, the cheaper each
 * is.
 */
import type { PipelinedClient, Statement, StatementResult } from './pipelined-client.ts';

/** A connection with this many statements in flight counts as busy. */
const busyFrom = 64;

export class PipelinedReader {
  readonly #connect: () => Promise<PipelinedClient>;
  readonly #clients: (PipelinedClient | null)[];
  readonly #connecting: (Promise<PipelinedClient> | null)[];

  constructor(connect: () => Promise<PipelinedClient>, connections: number) {
    this.#connect = connect;
    this.#clients = Array.from({ length: connections }, () => null);
    this.#connecting = Array.from({ length: connections }, () => null);
  }

  /** Rejects when Postgres is away. */
  query<Row extends object>(statement: Statement<Row>, values: readonly unknown[]): Promise<StatementResult<Row>> {
    const place = this.#choose();
    const client = this.#clients[place];
    if (client && !client.broken) return client.query(statement, values);
    return this.#open(place).then((opened) => opened.query(statement, values));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#connecting.filter((connecting) => connecting !== null));
    const open = this.#clients.filter((client) => client !== null && client.broken === null);
    await Promise.all(open.map((client) => client!.close()));
  }

  /** The index of the first connection that is not busy. If all are busy, of the least busy one. */
  #choose(): number {
    let least = 0;
    for (let place = 0; place < this.#clients.length; place += 1) {
      const pending = this.#clients[place]?.pending ?? 0;
      if (pending < busyFrom) return place;
      if (pending < (this.#clients[least]?.pending ?? 0)) least = place;
    }
    return least;
  }

  async #open(place: number): Promise<PipelinedClient> {
    const connecting = (this.#connecting[place] ??= this.#connect());
    try {
      const client = await connecting;
      this.#clients[place] = client;
      return client;
    } finally {
      this.#connecting[place] = null;
    }
  }
}
