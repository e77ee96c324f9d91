/**
 * The signing secrets of this deployment, shared by all its processes. They are stored outside of the read models and
 * survive their replacement. If a secret is lost, its signatures become invalid.
 *
 * A new key can replace the signing one (`rotateSecretKey`); signatures of older keys stay valid. Processes reread the
 * keys every few seconds. A new key begins to sign after a minute: by then every process knows it.
 *
 * A leaked key can be removed (`removeSecretKey`). A process that has not reread the keys for half a minute trusts none
 * of them, so signatures of a removed key are accepted for at most that long.
 */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { inTransaction } from '../database/transaction.ts';

export interface SecretKey {
  /** From 1 to 255. */
  readonly id: number;
  /** 32 random bytes. */
  readonly bytes: Uint8Array;
}

export interface SecretKeys {
  /** The key for new signatures. */
  readonly current: SecretKey;
  /**
   * The key with this ID; null if this deployment has no such key. Throws KeysNotRead if the last reading is too old.
   */
  find(id: number): SecretKey | null;
}

/** A key without its secret. */
interface SecretKeySummary {
  readonly id: number;
  /** `past`: its signatures are valid; `current`: it also signs; `next`: it will sign soon. */
  readonly state: 'past' | 'current' | 'next';
}

/**
 * Interval of rereading the keys, how long a reading is trusted, and the delay before a new key signs, in milliseconds.
 */
const rereadInterval = 10_000;
const trustedFor = 30_000;
const signsAfter = 60_000;

/** Time limit of a reading, in milliseconds: a dead connection may stay silent for ever. */
const readTimeout = 5000;

/** The largest ID of a key: it is one byte of a job ID. */
export const idMax = 255;

/** The keys have not been read for so long that a known one may have been removed since. */
export class KeysNotRead extends Error {
  override readonly name = 'KeysNotRead';
}

export interface KeyReading {
  /** Interval of rereading the keys, in milliseconds. */
  readonly interval?: number;
  /** How long a reading is trusted, in milliseconds. */
  readonly trustedFor?: number;
}

/** The keys in a database, kept up to date while it can be reached. */
export class StoredSecretKeys implements SecretKeys {
  readonly #pool: pg.Pool;
  readonly #trustedFor: number;
  readonly #timer: NodeJS.Timeout;
  #known: ReadKeys;
  /** Only one reading runs at a time, so that an earlier one never overwrites a later one. */
  #reading: Promise<void> | null = null;

  private constructor(pool: pg.Pool, known: ReadKeys, reading: Required<KeyReading>) {
    this.#pool = pool;
    this.#known = known;
    this.#trustedFor = reading.trustedFor;
    this.#timer = setInterval(() => {
      this.#reading ??= this.#readAgain().finally(() => {
        this.#reading = null;
      });
    }, reading.interval);
  }

  /** Reads the keys, and creates the first one if there is none. Safe to call concurrently from many processes. */
  static async open(pool: pg.Pool, reading: KeyReading = {}): Promise<StoredSecretKeys> {
    const askedAt = performance.now();
    const keys = await changeKeys(pool, async (client, present) => {
      if (present.length > 0) return present;
      await insertKey(client, 1, 0);
      return readKeys(client);
    });
    return new StoredSecretKeys(pool, { keys, askedAt }, { interval: rereadInterval, trustedFor, ...reading });
  }

  get current(): SecretKey {
    return currentOf(this.#known.keys);
  }

  find(id: number): SecretKey | null {
    const { keys, askedAt } = this.#known;
    if (performance.now() - askedAt > this.#trustedFor) throw new KeysNotRead('The keys of signatures cannot be read.');
    return keys.find((key) => key.id === id) ?? null;
  }

  /** Call it before the pool is closed. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #readAgain(): Promise<void> {
    const askedAt = performance.now();
    try {
      this.#known = { keys: await readKeys(this.#pool), askedAt };
    } catch {
      // The known keys stay trusted for a while, and the next reading follows soon. Requests that need Postgres report
      // that it is away.
    }
  }
}

/** Creates a key that signs after `delay` milliseconds. Null if the maximum number of keys is reached. */
export async function rotateSecretKey(pool: pg.Pool, delay = signsAfter): Promise<SecretKeySummary | null> {
  return changeKeys(pool, async (client, present) => {
    const id = (present.at(-1)?.id ?? 0) + 1;
    if (id > idMax) return null;
    // The first key need not wait for other processes.
    await insertKey(client, id, present.length === 0 ? 0 : delay);
    return summarize(await readKeys(client)).at(-1)!;
  });
}

/**
 * Removes a key, which invalidates all its signatures (`removed`). Does nothing if the key is the signing one
 * (`current`), if there is no such key (`unknown`), or if the current key has signed for less than `settleTime`
 * milliseconds (`tooEarly`): until then processes that have not reread the keys may sign with the old one.
 */
export async function removeSecretKey(
  pool: pg.Pool,
  id: number,
  settleTime = trustedFor,
): Promise<'removed' | 'current' | 'unknown' | 'tooEarly'> {
  return changeKeys(pool, async (client, present) => {
    const key = present.find((one) => one.id === id);
    if (key === undefined) return 'unknown';
    const current = currentOf(present);
    if (current.id === id) return 'current';
    if (key.signs && !(await hasSignedFor(client, current.id, settleTime))) return 'tooEarly';
    await client.query('delete from tablog_keys.keys where id = $1', [id]);
    return 'removed';
  });
}

/** All keys, oldest first; empty before the first start of the service. */
export async function listSecretKeys(pool: pg.Pool): Promise<SecretKeySummary[]> {
  return changeKeys(pool, async (_client, present) => summarize(present));
}

interface StoredKey extends SecretKey {
  /** Whether it may sign already, by the clock of Postgres. */
  readonly signs: boolean;
}

interface ReadKeys {
  readonly keys: readonly StoredKey[];
  /** When the keys were queried, by `performance.now()`: a key that was removed before is not among them. */
  readonly askedAt: number;
}

/** Calls `change` with the present keys, one process at a time. */
async function changeKeys<T>(
  pool: pg.Pool,
  change: (client: pg.PoolClient, present: readonly StoredKey[]) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.changeKeys]);
    // Postgres may have cached, before it got the lock, that the schema is missing. Opening a table refreshes that
    // cache; taking an advisory lock does not.
    await client.query('select from pg_namespace limit 1');
    await client.query('create schema if not exists tablog_keys');
    await client.query('create table if not exists tablog_keys.keys (id smallint primary key, bytes bytea not null)');
    // Keys of versions before rotation existed sign already.
    await client.query(
      `alter table tablog_keys.keys add column if not exists signs_from timestamptz not null default '-infinity'`,
    );
    return change(client, await readKeys(client));
  });
}

const selectKeys = {
  text: 'select id, bytes, signs_from <= clock_timestamp() as signs from tablog_keys.keys order by id',
  query_timeout: readTimeout,
};

async function readKeys(client: pg.Pool | pg.PoolClient): Promise<StoredKey[]> {
  const { rows } = await client.query<StoredKey>(selectKeys);
  return rows;
}

async function hasSignedFor(client: pg.PoolClient, id: number, ms: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from tablog_keys.keys where id = $1 and signs_from <= clock_timestamp() - $2 * interval '1 ms'`,
    [id, ms],
  );
  return rowCount === 1;
}

async function insertKey(client: pg.PoolClient, id: number, delay: number): Promise<void> {
  await client.query(
    `insert into tablog_keys.keys (id, bytes, signs_from) values ($1, $2, clock_timestamp() + $3 * interval '1 ms')`,
    [id, randomBytes(32), delay],
  );
}

/**
 * The newest key that signs. There always is one: the first key signs at once, and the newest signing key is never
 * removed.
 */
function currentOf(keys: readonly StoredKey[]): StoredKey {
  return keys.findLast((key) => key.signs)!;
}

function summarize(keys: readonly StoredKey[]): SecretKeySummary[] {
  if (keys.length === 0) return [];
  const current = currentOf(keys);
  return keys.map(({ id, signs }) => ({ id, state: id === current.id ? 'current' : signs ? 'past' : 'next' }));
}
