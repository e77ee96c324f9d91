/** A few pipelined connections, each lent to one transaction at a time. */
import { refuseSecond, whileHolding } from './one-connection.ts';
import type { PipelinedClient } from './pipelined-client.ts';

export class PipelinedPool {
  readonly #connect: () => Promise<PipelinedClient>;
  readonly #max: number;
  readonly #idle: PipelinedClient[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #inUse = new Set<PipelinedClient>();
  #lent = 0;
  #isClosed = false;

  constructor(connect: () => Promise<PipelinedClient>, max: number) {
    this.#connect = connect;
    this.#max = max;
  }

  /**
   * Lends a connection to `use`. Afterwards the connection is destroyed if it broke, or if `use` left statements in
   * flight or a transaction open.
   */
  async with<T>(use: (client: PipelinedClient) => Promise<T>): Promise<T> {
    refuseSecond(this);
    while (this.#lent >= this.#max) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#lent += 1;
    let client: PipelinedClient | undefined;
    try {
      const lent = this.#takeIdle() ?? (await this.#connect());
      client = lent;
      this.#inUse.add(lent);
      return await whileHolding(this, () => use(lent));
    } finally {
      if (client !== undefined) this.#inUse.delete(client);
      if (client?.free && !this.#isClosed) this.#idle.push(client);
      else client?.destroy();
      this.#lent -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Ends all connections. A connection that is still lent is cut, because the task that holds it may hang. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const client of this.#inUse) client.destroy();
    await Promise.all(this.#idle.splice(0).map((client) => client.close()));
  }

  #takeIdle(): PipelinedClient | undefined {
    for (;;) {
      const client = this.#idle.pop();
      if (!client?.broken) return client;
    }
  }
}
