/**
 * Coordinates the users of a read model. Every process that reads or writes it holds a shared advisory lock of Postgres, on a
 * connection of its own; a process that replaces the read model takes the lock exclusively. Processes cache what they read, so a
 * process must stop when its read model was replaced by another one.
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { isDatabaseAway } from '../database/database-away.ts';

/** Delay before reconnecting, in milliseconds. */
const retakeDelay = 100;

/** The read model is not available: another process rebuilds it, or uses it. */
export class ReadModelInUse extends Error {
  override readonly name = 'ReadModelInUse';
}

const selectUsers = `
  select distinct activity.application_name || coalesce(' from ' || host(activity.client_addr), '') as name
  from pg_locks locks join pg_stat_activity activity using (pid)
  where locks.locktype = 'advisory' and locks.granted and locks.pid <> pg_backend_pid()
    and locks.database = (select oid from pg_database where datname = current_database())
    and (locks.classid::int8 << 32 | locks.objid::int8) = $1
  order by 1`;

export class ReadModelUse {
  readonly #url: string;
  readonly #schema: string;
  readonly #lost = Promise.withResolvers<string>();
  #client: pg.Client;
  /** Identifies the read model: a replacement under the same name has another OID. Null until it exists. */
  #identity: string | null = null;
  #ended = false;

  private constructor(url: string, schema: string, client: pg.Client) {
    this.#url = url;
    this.#schema = schema;
    this.#client = client;
  }

  /** Begins shared use of a read model. Rejects with ReadModelInUse while it is being rebuilt. */
  static async share(url: string, schema: string): Promise<ReadModelUse> {
    const use = new ReadModelUse(url, schema, await takeLock(url, 'shared'));
    use.#retakeWhenLost();
    return use;
  }

  /** Begins exclusive use. Rejects with ReadModelInUse, which names the users, while there are others. */
  static async exclude(url: string, schema: string): Promise<ReadModelUse> {
    return new ReadModelUse(url, schema, await takeLock(url, 'alone'));
  }

  /** To be called once the read model exists: from then on a replacement under its name is detected. */
  async identify(): Promise<void> {
    this.#identity = await identityOf(this.#client, this.#schema);
  }

  /** Calls the listener once, with the reason, if the read model was replaced while this process uses it. */
  onLost(listener: (reason: string) => void): void {
    void this.#lost.promise.then(listener);
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#client.end();
  }

  /** Runs work that requires the lock, on the lock's own connection: if the lock is lost, the work fails. */
  async holding<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    return work(this.#client);
  }

  #retakeWhenLost(): void {
    this.#client.once('end', () => void this.#retake());
  }

  /** The connection broke and released the lock: takes it again as soon as Postgres can be reached. */
  async #retake(): Promise<void> {
    while (!this.#ended) {
      await sleep(retakeDelay);
      let client: pg.Client | null = null;
      try {
        client = await takeLock(this.#url, 'shared');
        // Kept only once nothing can fail: otherwise both its `end` event and this loop would reconnect.
        const identity = await identityOf(client, this.#schema);
        if (this.#ended) return await client.end();
        this.#client = client;
        this.#retakeWhenLost();
        if (this.#identity !== identity) {
          this.#lost.resolve('the read model was replaced while this process had no connection to Postgres');
        }
        return;
      } catch (error) {
        // With its lock, unless it has broken already.
        await client?.end().catch(() => undefined);
        if (isDatabaseAway(error)) continue;
        return this.#lost.resolve(error instanceof ReadModelInUse ? error.message : `the read model is lost: ${String(error)}`);
      }
    }
  }
}

/** Connects and takes the lock, which is held until the connection ends. Rejects with ReadModelInUse. */
async function takeLock(url: string, how: 'shared' | 'alone'): Promise<pg.Client> {
  const client = await connect(url);
  try {
    const lock = how === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
    const { rows } = await client.query(`select ${lock}($1) as taken`, [advisoryLocks.useReadModel]);
    if (rows[0].taken) return client;
    const users = await usersOf(client);
    throw new ReadModelInUse(
      how === 'shared'
        ? `the read model is being rebuilt by ${users}; start again when that is done`
        : `the read model is in use by ${users}; stop all that use it and try again`,
    );
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: `tablog process ${process.pid} on ${hostname()}`.slice(0, 63),
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // Handled by the `end` event; without a listener the error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function usersOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(selectUsers, [advisoryLocks.useReadModel]);
  return rows.map(({ name }) => name).join(', ') || 'another process';
}

async function identityOf(client: pg.Client, schema: string): Promise<string | null> {
  const { rows } = await client.query('select oid from pg_namespace where nspname = $1', [schema]);
  return rows.length === 0 ? null : String(rows[0].oid);
}
