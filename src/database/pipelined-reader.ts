/** Point reads, spread over a few pipelined connections that are made when they are needed and made anew when they break. */
import type { PipelinedClient, Statement, StatementResult } from './pipelined-client.ts';

export class PipelinedReader {
  readonly #connect: () => Promise<PipelinedClient>;
  readonly #clients: (PipelinedClient | null)[];
  readonly #connecting: (Promise<PipelinedClient> | null)[];
  #turn = 0;

  constructor(connect: () => Promise<PipelinedClient>, connections: number) {
    this.#connect = connect;
    this.#clients = Array.from({ length: connections }, () => null);
    this.#connecting = Array.from({ length: connections }, () => null);
  }

  /** Rejects when Postgres is away. */
  query(statement: Statement, values: readonly unknown[]): Promise<StatementResult> {
    this.#turn = (this.#turn + 1) % this.#clients.length;
    const client = this.#clients[this.#turn];
    if (client && !client.broken) return client.query(statement, values);
    return this.#open(this.#turn).then((opened) => opened.query(statement, values));
  }

  async close(): Promise<void> {
    const open = this.#clients.filter((client) => client !== null && client.broken === null);
    await Promise.all(open.map((client) => client!.close()));
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
