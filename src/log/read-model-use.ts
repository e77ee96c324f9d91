/**
 * Watches the read model that a process uses, on a connection of its own. Another process may replace it
 * (src/operations/replay/take-over.ts). Then this process can no longer store anything, because its fencing tokens are
 * void. It must open the new read model, because its memory is of the old one.
 *
 * The connection holds three shared advisory locks of Postgres. The first makes a replay of an earlier version refuse
 * to run, because such a replay expects to be alone. The second names the read model: no later version removes it
 * (src/operations/maintenance/remove-superseded.ts), and other processes know that their acknowledged writes may be
 * missing here for a moment. The third names the language of events that this process reads, so that other processes
 * write no newer one (language-agreement.ts).
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { advisoryLocks } from '../storage/database/advisory-locks.ts';
import { isDatabaseAway } from '../storage/database/database-away.ts';
import { isAnotherReadModelUsed } from '../storage/database/held-locks.ts';
import { eventLanguage } from '../language/events/language.ts';
import { agreeOnLanguage, registerLanguage } from './language-agreement.ts';

/** Delay before reconnecting, in milliseconds. */
const retakeDelay = 100;

/** The interval of checks whether the read model was replaced and whether others are used, in milliseconds. */
const lookInterval = 500;

/**
 * How long other read models count as used after the last check that found them in use, in milliseconds. Their last
 * writes may not be projected yet.
 */
const othersLinger = 10_000;

/**
 * The read model is not available: another process rebuilds it, or newer versions write events that this process cannot
 * read.
 */
export class ReadModelInUse extends Error {
  override readonly name = 'ReadModelInUse';
}

export class ReadModelUse {
  readonly #url: string;
  readonly #schema: string;
  readonly #lost = Promise.withResolvers<string>();
  readonly #replaced = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  /**
   * The check in flight. Only one runs at a time, however slow Postgres is: a waiting connection takes no second query.
   */
  #looking: Promise<void> | null = null;
  #client: pg.Client;
  readonly #reads: number;
  #languageMax: number;
  /** When this process took its locks, by `performance.now`. */
  readonly #began = performance.now();
  /** When other read models were last found in use, by `performance.now`. */
  #othersSeen = -Infinity;
  /** Identifies the read model: a replacement under the same name has another OID. Null until the read model exists. */
  #identity: string | null = null;
  #ended = false;

  private constructor(url: string, schema: string, reads: number, { client, languageMax, othersUsed }: Locks) {
    this.#url = url;
    this.#schema = schema;
    this.#reads = reads;
    this.#client = client;
    this.#languageMax = languageMax;
    this.#noteOthers(othersUsed);
  }

  /**
   * Begins to use a read model. `reads`: the newest language of events that the process reads. Rejects with
   * ReadModelInUse while a replay of an earlier version rebuilds it, and if the log may contain events of a newer
   * language.
   */
  static async share(url: string, schema: string, reads = eventLanguage): Promise<ReadModelUse> {
    const use = new ReadModelUse(url, schema, reads, await takeLocks(url, schema, reads));
    use.#retakeWhenLost();
    return use;
  }

  /** The newest language that all live processes read, as far as this process knows. It rises within half a second. */
  get languageMax(): number {
    return this.#languageMax;
  }

  /**
   * Whether processes with other read models append to the log. All processes know of a new one within a second, and
   * the new one serves only after that (`announced`).
   */
  get othersAppend(): boolean {
    return performance.now() - this.#othersSeen < othersLinger;
  }

  /**
   * Resolves when the processes with other read models know of this one: a second after this process began to use its
   * own. If there are no such processes, resolves at once.
   */
  async announced(): Promise<void> {
    if (this.othersAppend) await sleep(Math.max(0, this.#began + 2 * lookInterval - performance.now()));
  }

  /** Call this once the read model exists. From then on a replacement under its name is detected. */
  async identify(): Promise<void> {
    this.#identity = await identityOf(this.#client, this.#schema);
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, lookInterval);
  }

  /** Calls the listener once, with the reason, if the read model can no longer be used. */
  onLost(listener: (reason: string) => void): void {
    void this.#lost.promise.then(listener);
  }

  /** Calls the listener once if the read model was replaced, so that the new one can be opened. */
  onReplaced(listener: () => void): void {
    void this.#replaced.promise.then(listener);
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#timer);
    await Promise.all([this.#client.end(), this.#looking]);
  }

  async #look(): Promise<void> {
    const client = this.#client;
    try {
      this.#compare(await identityOf(client, this.#schema));
      this.#noteOthers(await isAnotherReadModelUsed(client, this.#schema));
      if (this.#languageMax < this.#reads) this.#languageMax = await agreeOnLanguage(client);
    } catch {
      // Either the connection broke, and its `end` event is handled; or a statement failed, and the next check repeats
      // it.
    }
  }

  #noteOthers(areUsed: boolean): void {
    if (areUsed) this.#othersSeen = performance.now();
  }

  #compare(identity: string | null): void {
    if (!this.#ended && this.#identity !== identity) this.#replaced.resolve();
  }

  #retakeWhenLost(): void {
    this.#client.once('end', () => void this.#retake());
  }

  /** The connection broke and released its locks. Takes them again as soon as Postgres can be reached. */
  async #retake(): Promise<void> {
    while (!this.#ended) {
      await sleep(retakeDelay);
      let client: pg.Client | null = null;
      try {
        const locks = await takeLocks(this.#url, this.#schema, this.#reads);
        ({ client } = locks);
        // The client is kept only once nothing can fail. Otherwise both its `end` event and this loop would reconnect.
        const identity = await identityOf(client, this.#schema);
        if (this.#ended) return await client.end();
        this.#client = client;
        this.#languageMax = locks.languageMax;
        this.#noteOthers(locks.othersUsed);
        this.#retakeWhenLost();
        this.#compare(identity);
        return;
      } catch (error) {
        // Ends the client, and with it the lock, unless the connection is already broken.
        await client?.end().catch(() => undefined);
        if (isDatabaseAway(error)) continue;
        return this.#lost.resolve(
          error instanceof ReadModelInUse ? error.message : `the read model is lost: ${String(error)}`,
        );
      }
    }
  }
}

interface Locks {
  /** The connection that holds the locks until it ends. */
  readonly client: pg.Client;
  readonly languageMax: number;
  /** Whether other read models are in use. */
  readonly othersUsed: boolean;
}

/** Connects and takes the locks. Rejects with ReadModelInUse. */
async function takeLocks(url: string, schema: string, reads: number): Promise<Locks> {
  const client = await connect(url);
  try {
    const { rows } = await client.query('select pg_try_advisory_lock_shared($1) as taken', [
      advisoryLocks.useReadModel,
    ]);
    if (!rows[0].taken)
      throw new ReadModelInUse(
        'the read model is being rebuilt by a replay of an earlier version; start again when that is done',
      );
    // Waits while a later version removes this version's read model, which takes a moment.
    await client.query('select pg_advisory_lock_shared($1, hashtext($2))', [advisoryLocks.usesReadModel, schema]);
    await registerLanguage(client, reads);
    const languageMax = await agreeOnLanguage(client);
    if (languageMax <= reads) return { client, languageMax, othersUsed: await isAnotherReadModelUsed(client, schema) };
    throw new ReadModelInUse(
      'the log may hold events that only a newer version can read; start the version that the other processes ran last',
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
  // The `end` event is handled. Without this listener, the error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function identityOf(client: pg.Client, schema: string): Promise<string | null> {
  const { rows } = await client.query('select oid from pg_namespace where nspname = $1', [schema]);
  return rows.length === 0 ? null : String(rows[0].oid);
}
