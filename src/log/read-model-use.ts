/**
 * Watches the read model that a process uses, on a connection of its own. Another process may replace it
 * (src/operations/replay/take-over.ts). Then this process can store nothing any more, because its fencing tokens are
 * void, and must open the new one: what it remembers is of the old one. The connection holds shared advisory locks of
 * Postgres: one so that a replay of an earlier version, which expects to be alone, refuses; one that names the read
 * model, so that no later version removes it (src/operations/maintenance/remove-superseded.ts), and others know that
 * what they acknowledge may be missing here for a moment; and one that says which events this process reads, so that
 * others write none that it cannot (language-agreement.ts).
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

/** How often a process looks whether its read model was replaced, and whether others are used, in milliseconds. */
const lookInterval = 500;

/**
 * How long after the last look that found other read models in use they count as used, in milliseconds: their last
 * writes may not be projected yet.
 */
const othersLinger = 10_000;

/**
 * The read model is not available: another process rebuilds it, or newer versions write events that this one cannot
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
  /** One at a time, however slow Postgres is: a connection takes no second query while it waits. */
  #looking: Promise<void> | null = null;
  #client: pg.Client;
  readonly #reads: number;
  #languageMax: number;
  /** When it took its locks, by `performance.now`. */
  readonly #began = performance.now();
  /** When other read models were last found in use, by `performance.now`. */
  #othersSeen = -Infinity;
  /** Identifies the read model: a replacement under the same name has another OID. Null until it exists. */
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
   * ReadModelInUse while a replay of an earlier version rebuilds it, and if the log may hold events of a newer
   * language.
   */
  static async share(url: string, schema: string, reads = eventLanguage): Promise<ReadModelUse> {
    const use = new ReadModelUse(url, schema, reads, await takeLocks(url, schema, reads));
    use.#retakeWhenLost();
    return use;
  }

  /** The newest language that all live processes read, as far as this one knows: it rises within half a second. */
  get languageMax(): number {
    return this.#languageMax;
  }

  /**
   * Whether processes that use other read models append to the log. All know within a second that a process has begun,
   * and none serves earlier (`announced`).
   */
  get othersAppend(): boolean {
    return performance.now() - this.#othersSeen < othersLinger;
  }

  /**
   * Resolves when the processes that use other read models know of this one: a second after it began to use its own. At
   * once if there are none.
   */
  async announced(): Promise<void> {
    if (this.othersAppend) await sleep(Math.max(0, this.#began + 2 * lookInterval - performance.now()));
  }

  /** To be called once the read model exists: from then on a replacement under its name is detected. */
  async identify(): Promise<void> {
    this.#identity = await identityOf(this.#client, this.#schema);
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, lookInterval);
  }

  /** Calls the listener once, with the reason, if the read model cannot be used any more. */
  onLost(listener: (reason: string) => void): void {
    void this.#lost.promise.then(listener);
  }

  /** Calls the listener once if the read model was replaced: a new one can be opened. */
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
      // The connection broke, and its `end` event is handled; or a statement failed, and the next look repeats it.
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

  /** The connection broke and released the lock: takes it again as soon as Postgres can be reached. */
  async #retake(): Promise<void> {
    while (!this.#ended) {
      await sleep(retakeDelay);
      let client: pg.Client | null = null;
      try {
        const locks = await takeLocks(this.#url, this.#schema, this.#reads);
        ({ client } = locks);
        // Kept only once nothing can fail: otherwise both its `end` event and this loop would reconnect.
        const identity = await identityOf(client, this.#schema);
        if (this.#ended) return await client.end();
        this.#client = client;
        this.#languageMax = locks.languageMax;
        this.#noteOthers(locks.othersUsed);
        this.#retakeWhenLost();
        this.#compare(identity);
        return;
      } catch (error) {
        // With its lock, unless it has broken already.
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
  /** Holds them until it ends. */
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
    // Waits while a later version gives the read model of this one away, which takes a moment.
    await client.query('select pg_advisory_lock_shared($1, hashtext($2))', [advisoryLocks.usesReadModel, schema]);
    await registerLanguage(client, reads);
    const languageMax = await agreeOnLanguage(client);
    if (languageMax <= reads) return { client, languageMax, othersUsed: await isAnotherReadModelUsed(client, schema) };
    throw new ReadModelInUse(
      'the log may hold events that only a newer version can read; start the version that the other processes had last',
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

async function identityOf(client: pg.Client, schema: string): Promise<string | null> {
  const { rows } = await client.query('select oid from pg_namespace where nspname = $1', [schema]);
  return rows.length === 0 ? null : String(rows[0].oid);
}
