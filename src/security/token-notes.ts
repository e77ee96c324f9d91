/**
 * What is noted of access tokens outside the log and the read model, and beside both: which ones were revoked, before the log
 * says so (docs/decisions/0016), and when they were used, which follows from no event. A rebuild leaves it as it is.
 */
import type pg from 'pg';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { inTransaction } from '../database/transaction.ts';

const schema = 'tablog_tokens';

/** `token_id`, `noted_at`: tokens that are refused, whatever the read model says of them. */
export const revocationNotes = `${schema}.revocations`;

/** `token_id`, `used_at`: when they were last used, in milliseconds of log time. */
export const useNotes = `${schema}.uses`;

/** Makes room for the notes unless it is there. Safe to call at once from many processes. */
export async function createTokenNotes(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createNotes]);
    await client.query(`create schema if not exists ${schema}`);
    await client.query(
      `create table if not exists ${revocationNotes} (token_id uuid primary key, noted_at timestamptz not null default now())`,
    );
    await client.query(`create table if not exists ${useNotes} (token_id uuid primary key, used_at int8 not null)`);
  });
}

/** From now on the token is refused. It may be said again. */
export async function noteRevocation(pool: pg.Pool, tokenId: string): Promise<void> {
  await pool.query(`insert into ${revocationNotes} (token_id) values ($1) on conflict do nothing`, [tokenId]);
}

/** `uses`: the time of the last use, in milliseconds of log time, by the ID of the token. An older one takes no newer one's place. */
export async function noteUses(pool: pg.Pool, uses: ReadonlyMap<string, number>): Promise<void> {
  await pool.query(
    `insert into ${useNotes} as known (token_id, used_at)
      select * from unnest($1::uuid[], $2::int8[]) as given(token_id, used_at) order by token_id
      on conflict (token_id) do update set used_at = excluded.used_at where known.used_at < excluded.used_at`,
    [[...uses.keys()], [...uses.values()]],
  );
}
