/** A connection that marks the server as in use by this process, so that no other process stops it meanwhile. */
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { DATA_SETTING } from './postmaster.ts';

/** Temporary errors: the server is not ready, or is stopping. */
const PASSING = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', '57P01', '57P02', '57P03', '53300']);
const EXISTS_ALREADY = new Set(['42P04', '23505']);

export class Lease {
  readonly #client: pg.Client;
  #lost = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    const lose = (): void => {
      this.#lost = true;
    };
    client.on('error', lose);
    client.once('end', lose);
  }

  /**
   * Connects to the server of `url`, takes the shared lock, and creates the database named in `url` if it is missing.
   * Resolves to undefined when the server is not ready; rejects when it refuses, or serves another folder than `data`.
   */
  static async take(url: string, data: string): Promise<Lease | undefined> {
    // Connects to a database that always exists, so that the one named in `url` can be dropped and restored meanwhile.
    const maintenance = new URL(url);
    maintenance.pathname = '/postgres';
    const client = newClient(maintenance.href);
    const lease = new Lease(client);
    try {
      await client.connect();
      const { rows } = await client.query('SELECT current_setting($1, true) AS data', [DATA_SETTING]);
      if (rows[0]?.data !== data)
        throw new EmbeddedPostgresError(`The server at ${maintenance.host} does not serve ${data}.`);
      // Waits while another process stops the server; then the connection ends.
      await client.query('SELECT pg_advisory_lock_shared($1)', [advisoryLocks.useServer]);
      await createDatabase(client, new URL(url).pathname.slice(1));
      return lease;
    } catch (error) {
      await client.end();
      const { code = '', message } = error as NodeJS.ErrnoException;
      // A connection that breaks while connecting has no code.
      if (PASSING.has(code) || /^Connection terminated|^timeout/.test(message)) return undefined;
      throw error;
    }
  }

  get lost(): boolean {
    return this.#lost;
  }

  /**
   * Whether no other process is connected. If true, processes that ask for a lease wait until this lease ends or the
   * server has stopped. If false, this lease can no longer be used. Rejects if the connection breaks; then the lease is
   * lost.
   */
  async excludeOthers(): Promise<boolean> {
    await this.#client.query('SELECT pg_advisory_unlock_shared($1)', [advisoryLocks.useServer]);
    // If a process of the server crashed, its lock stays until the server notices the crash; then this connection
    // breaks.
    for (let left = 4; !(await this.#lock()); left -= 1) {
      if (left === 0) return false;
      await sleep(50);
    }
    // Closed connections, also those of this process, take a while to disappear: seconds on a busy machine.
    for (let attempt = 0; attempt < 80; attempt += 1) {
      const others = await this.#client.query(
        `SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      if (others.rowCount === 0) return true;
      await sleep(50);
    }
    return false;
  }

  async end(): Promise<void> {
    await this.#client.end();
  }

  /** Tries to take the lock alone. Resolves to false if another process has a lease. */
  async #lock(): Promise<boolean> {
    const {
      rows: [locked],
    } = await this.#client.query<{ alone: boolean }>('SELECT pg_try_advisory_lock($1) AS alone', [
      advisoryLocks.useServer,
    ]);
    return locked?.alone === true;
  }
}

async function createDatabase(client: pg.Client, name: string): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
  if (rowCount !== 0) return;
  await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`).catch((error: NodeJS.ErrnoException) => {
    // Another process that starts at the same time was faster.
    if (!EXISTS_ALREADY.has(error.code ?? '')) throw error;
  });
}

function newClient(url: string): pg.Client {
  return new pg.Client({
    connectionString: url,
    application_name: 'tablog lease',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
}
