/** Listens to a channel of Postgres on its own connection, and reconnects whenever the connection breaks. */
import pg from 'pg';
import { pause } from '../pause.ts';

/** How long to wait before listening again after the connection broke, in milliseconds. */
const reconnectDelay = 500;

export class Listener {
  readonly #config: pg.ClientConfig;
  readonly #channel: string;
  readonly #hear: (payload: string) => void;
  #client: pg.Client | null = null;
  readonly #closing = new AbortController();
  /** The attempts to listen again after the connection broke. */
  #listening: Promise<void> | null = null;

  private constructor(config: pg.ClientConfig, channel: string, hear: (payload: string) => void) {
    this.#config = config;
    this.#channel = channel;
    this.#hear = hear;
  }

  /**
   * `hear` gets the payload of each notification. Notifications are lost while the connection is broken. Rejects when
   * Postgres is away.
   */
  static async open(config: pg.ClientConfig, channel: string, hear: (payload: string) => void): Promise<Listener> {
    const listener = new Listener(config, channel, hear);
    await listener.#listen();
    return listener;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#client?.end(), this.#listening]);
  }

  async #listen(): Promise<void> {
    const client = new pg.Client(this.#config);
    // A connection that breaks also emits `end`, which is handled below.
    client.on('error', () => undefined);
    client.on('notification', ({ payload }) => this.#hear(payload ?? ''));
    try {
      await client.connect();
      await client.query(`listen ${this.#channel}`);
    } catch (error) {
      // A standby accepts the connection but refuses LISTEN.
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    client.once('end', () => {
      this.#listening = this.#listenAgain();
    });
  }

  async #listenAgain(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#listen();
        if (signal.aborted) await this.#client?.end();
        return;
      } catch {
        // Retry. Notifications are lost until an attempt succeeds.
        await pause(reconnectDelay, signal);
      }
    }
  }
}
