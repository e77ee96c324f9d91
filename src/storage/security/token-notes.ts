/**
 * Notes about access tokens, outside of the log and the read model: which ones were revoked, before the log has it
 * (docs/decisions/0016), when they were last used, which no event records, and those of operators. A rebuild keeps
 * them.
 */
import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { inTransaction } from '../database/transaction.ts';

const schema = 'tablog_tokens';

/** `token_id`, `noted_at`: tokens that are refused, whatever the read model says. */
export const revocationNotes = `${schema}.revocations`;

/** `token_id`, `used_at`: the last use, in milliseconds of log time. */
export const useNotes = `${schema}.uses`;

/**
 * `id`, `hash`, `name`, `expires_at`, `revoked`, `ends_in` (its last characters): the tokens of operators
 * (operator-tokens.ts). One that was revoked stays, so that lists show it.
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
    // Earlier versions made it without. Only if it is missing: else each start would wait for whoever reads the table.
    const { rowCount } = await client.query(
      `select from pg_attribute where attrelid = '${operatorTokens}'::regclass and attname = 'ends_in' and not attisdropped`,
    );
    if (rowCount === 0) await client.query(`alter table ${operatorTokens} add column ends_in text`);
  });
}

/** The token is refused from now on. Idempotent. */
export async function noteRevocation(pool: pg.Pool, tokenId: string): Promise<void> {
  await pool.query(`insert into ${revocationNotes} (token_id) values ($1) on conflict do nothing`, [tokenId]);
}

/**
 * `uses`: the last use by token ID, in milliseconds of log time. A later time is never overwritten by an earlier one.
 */
export async function noteUses(pool: pg.Pool, uses: ReadonlyMap<string, number>): Promise<void> {
  await pool.query(
    `insert into ${useNotes} as known (token_id, used_at)
      select * from unnest($1::uuid[], $2::int8[]) as given(token_id, used_at) order by token_id
      on conflict (token_id) do update set used_at = excluded.used_at where known.used_at < excluded.used_at`,
    [[...uses.keys()], [...uses.values()]],
  );
}
