/**
 * The secrets that this deployment signs with, shared by all of its processes. They are made once and kept beside the read
 * models, whatever becomes of those; a signature made with a lost one is a signature of somebody else.
 *
 * A new key can take the place of the one that signs (`rotateSecretKey`); what older ones signed stays good. Processes read the
 * keys again every few seconds, and a new one begins to sign a minute later: by then each of them knows it.
 *
 * A key that others may have come to know can be removed (`removeSecretKey`). A process that has not read the keys for half a minute
 * trusts none of those that it knows, so nothing that a removed key signed is accepted for longer than that.
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
  /** What new signatures are made with. */
  readonly current: SecretKey;
  /** The key that a signature names. Null for one that this deployment does not have. Throws KeysNotRead. */
  find(id: number): SecretKey | null;
}

/** A key without its secret. */
export interface SecretKeySummary {
  readonly id: number;
  /** `past`: its signatures are good; `current`: it signs, too; `next`: it will soon. */
  readonly state: 'past' | 'current' | 'next';
}

/** How often the keys are read again, for how long after a reading they are trusted, and how long after it was made a key begins to sign, in milliseconds. */
const rereadInterval = 10_000;
const trustedFor = 30_000;
const signsAfter = 60_000;

/** How long a reading may take, in milliseconds: nobody knows how long a connection is silent that has gone. */
const readTimeout = 5000;

/** The largest ID that a key can have: it is a byte of a job's ID. */
export const idMax = 255;

/** The keys were not read for so long that a removed one might be among those that are known. */
export class KeysNotRead extends Error {
  override readonly name = 'KeysNotRead';
}

export interface KeyReading {
  /** How often keys are read again, in milliseconds. */
  readonly interval?: number;
  /** For how long what was read is trusted, in milliseconds. */
  readonly trustedFor?: number;
}

/** The keys of a database, kept up to date while it can be reached. */
export class StoredSecretKeys implements SecretKeys {
  readonly #pool: pg.Pool;
  readonly #trustedFor: number;
  readonly #timer: NodeJS.Timeout;
  #known: ReadKeys;
  /** One at a time: what an earlier one found never takes the place of what a later one did. */
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

  /** Makes the first key unless there is one. Safe to call at once from many processes. */
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

  /** To be called before the pool is closed. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #readAgain(): Promise<void> {
    const askedAt = performance.now();
    try {
      this.#known = { keys: await readKeys(this.#pool), askedAt };
    } catch {
      // Those that are known stay good for a while, and the next time is soon. That Postgres is away is said where requests need it.
    }
  }
}

/** Makes a key that is to sign from now on; `delay`: after so many milliseconds. Null where there are as many as there can be. */
export async function rotateSecretKey(pool: pg.Pool, delay = signsAfter): Promise<SecretKeySummary | null> {
  return changeKeys(pool, async (client, present) => {
    const id = (present.at(-1)?.id ?? 0) + 1;
    if (id > idMax) return null;
    // The first one has nobody that it would have to wait for.
    await insertKey(client, id, present.length === 0 ? 0 : delay);
    return summarize(await readKeys(client)).at(-1)!;
  });
}

/**
 * Removes a key, so that no signature made with it is good any more: `removed`. That cannot be done to the one that signs at
 * present (`current`), nor to one that is not there (`unknown`), nor while processes that have not read the keys since may sign with it yet
 * (`tooEarly`): before the present one has signed for `settleTime`, in milliseconds.
 */
export async function removeSecretKey(
  pool: pg.Pool, id: number, settleTime = trustedFor,
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

/** All keys, the oldest first; none before the first start of the service. */
export async function listSecretKeys(pool: pg.Pool): Promise<SecretKeySummary[]> {
  return changeKeys(pool, async (_client, present) => summarize(present));
}

interface StoredKey extends SecretKey {
  /** Whether its time to sign has come, by the clock of Postgres. */
  readonly signs: boolean;
}

interface ReadKeys {
  readonly keys: readonly StoredKey[];
  /** When Postgres was asked for them, as `performance.now()` says it: what was removed before is not among them. */
  readonly askedAt: number;
}

/** Gives `change` the keys that there are, one process at a time. */
async function changeKeys<T>(pool: pg.Pool, change: (client: pg.PoolClient, present: readonly StoredKey[]) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.changeKeys]);
    // Postgres may remember of before the lock that there is no such schema. It looks again when it opens a table, and not for a lock of this kind.
    await client.query('select from pg_namespace limit 1');
    await client.query('create schema if not exists tablog_keys');
    await client.query('create table if not exists tablog_keys.keys (id smallint primary key, bytes bytea not null)');
    // Keys of before there was a rotation have signed ever since.
    await client.query(`alter table tablog_keys.keys add column if not exists signs_from timestamptz not null default '-infinity'`);
    return change(client, await readKeys(client));
  });
}

const selectKeys = {
  text: 'select id, bytes, signs_from <= clock_timestamp() as signs from tablog_keys.keys order by id', query_timeout: readTimeout,
};

async function readKeys(client: pg.Pool | pg.PoolClient): Promise<StoredKey[]> {
  // An object of its own for each query: the pg that MikroORM brings along writes into it.
  const { rows } = await client.query<StoredKey>({ ...selectKeys });
  return rows;
}

async function hasSignedFor(client: pg.PoolClient, id: number, ms: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from tablog_keys.keys where id = $1 and signs_from <= clock_timestamp() - $2 * interval '1 ms'`, [id, ms],
  );
  return rowCount === 1;
}

async function insertKey(client: pg.PoolClient, id: number, delay: number): Promise<void> {
  await client.query(
    `insert into tablog_keys.keys (id, bytes, signs_from) values ($1, $2, clock_timestamp() + $3 * interval '1 ms')`,
    [id, randomBytes(32), delay],
  );
}

/** The newest of those that sign. The first one signs at once, and the newest that signs is never removed, so there is one. */
function currentOf(keys: readonly StoredKey[]): StoredKey {
  return keys.findLast((key) => key.signs)!;
}

function summarize(keys: readonly StoredKey[]): SecretKeySummary[] {
  if (keys.length === 0) return [];
  const current = currentOf(keys);
  return keys.map(({ id, signs }) => ({ id, state: id === current.id ? 'current' : signs ? 'past' : 'next' }));
}
