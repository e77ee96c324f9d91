/**
 * Notes about access tokens, outside of the log and the read model: revocations, which take effect before the log has
 * them (docs/decisions/0016); the last use of each token, which no event records; and the tokens of operators. A
 * rebuild keeps all of them.
 */
import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { inTransaction } from '../database/transaction.ts';

const schema = 'tablog_tokens';

/** `token_id`, `noted_at`: tokens that are refused even if the read model has them as valid. */
export const revocationNotes = `${schema}.revocations`;

/** `token_id`, `used_at`: the last use, in milliseconds of log time. */
export const useNotes = `${schema}.uses`;

/**
 * `id`, `hash`, `name`, `expires_at`, `revoked`, `ends_in` (its last characters): the tokens of operators
 * (operator-tokens.ts). A revoked token stays in the table, so that lists show it.
 */
export const operatorTokens = `${schema}.operators`;

/** Creates the tables unless they exist. Safe to call concurrently from many processes. */
export async function createTokenNotes(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createNotes]);
    await client.query(`create schema if not exists ${schema}`);
    await client.query(
      `create table if not exists ${revocationNotes} (token_id uuid primary key, noted_at timestamptz not null default now())`,
    );
    await client.query(`create table if not exists ${useNotes} (token_id uuid primary key, used_at int8 not null)`);
    await client.query(`create table if not exists ${operatorTokens} (
      id uuid primary key, hash bytea not null unique, name text not null, expires_at int8, revoked boolean not null
      default false, ends_in text
    )`);
    // Earlier versions created the table without this column. `add column if not exists` would make each start wait for
    // transactions that read the table, so look first.
    const { rowCount } = await client.query(
      `select from pg_attribute where attrelid = '${operatorTokens}'::regclass and attname = 'ends_in' and not attisdropped`,
    );
    if (rowCount === 0) await client.query(`alter table ${operatorTokens} add column ends_in text`);
  });
}

/** Makes all processes refuse the token from now on. Idempotent. */
export async function noteRevocation(pool: pg.Pool, tokenId: string): Promise<void> {
  await pool.query(`insert into ${revocationNotes} (token_id) values ($1) on conflict do nothing`, [tokenId]);
}

/**
 * Records the last use of tokens. `uses` maps a token's ID to a log time in milliseconds. An earlier time never
 * overwrites a later one.
 */
export async function noteUses(pool: pg.Pool, uses: ReadonlyMap<string, number>): Promise<void> {
  await pool.query(
    `insert into ${useNotes} as known (token_id, used_at)
      select * from unnest($1::uuid[], $2::int8[]) as given(token_id, used_at) order by token_id
      on conflict (token_id) do update set used_at = excluded.used_at where known.used_at < excluded.used_at`,
    [[...uses.keys()], [...uses.values()]],
  );
}
