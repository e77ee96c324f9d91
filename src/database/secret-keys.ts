/**
 * The secrets that this deployment signs with, shared by all of its processes. They are made once and kept beside the read
 * models, whatever becomes of those; a signature made with a lost one is a signature of somebody else.
 */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { inTransaction } from './transaction.ts';

export interface SecretKey {
  /** From 1 to 255. */
  readonly id: number;
  /** 32 random bytes. */
  readonly bytes: Uint8Array;
}

export interface SecretKeys {
  /** What new signatures are made with. */
  readonly current: SecretKey;
  /** Null for a key that this deployment does not have. */
  find(id: number): SecretKey | null;
}

/** Any number that nothing else in the database uses as an advisory lock. */
const creationLock = 7_460_231_006;

/** Makes the first key unless there is one. Safe to call at once from many processes. */
export async function loadSecretKeys(pool: pg.Pool): Promise<SecretKeys> {
  const keys = await inTransaction(pool, async (client): Promise<SecretKey[]> => {
    await client.query('select pg_advisory_xact_lock($1)', [creationLock]);
    await client.query('create schema if not exists tablog_keys');
    await client.query('create table if not exists tablog_keys.keys (id smallint primary key, bytes bytea not null)');
    const { rows } = await client.query('select id, bytes from tablog_keys.keys order by id');
    if (rows.length > 0) return rows;
    const first = { id: 1, bytes: randomBytes(32) };
    await client.query('insert into tablog_keys.keys (id, bytes) values ($1, $2)', [first.id, first.bytes]);
    return [first];
  });
  return { current: keys.at(-1)!, find: (id) => keys.find((key) => key.id === id) ?? null };
}
