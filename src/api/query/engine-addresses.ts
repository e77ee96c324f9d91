/**
 * The addresses of all query engines, in Postgres: a further page of a query must come from the engine that holds its
 * continuation. They are outside of the log and the read model, because an engine lives no longer than its process.
 */
import type pg from 'pg';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { inTransaction } from '../../storage/database/transaction.ts';

const schema = 'tablog_queries';
const engines = `${schema}.engines`;

/** Interval of noting a running engine again, in milliseconds, and how long a note is valid. */
export const notedEveryMs = 60_000;
const notedFor = '5 minutes';

/** The address and the secret for requests to an engine. */
export interface EngineAddress {
  /** Such as `http://10.0.0.7:41234`. */
  readonly url: string;
  /** The value that requests must have in the header `authorization`. */
  readonly secret: string;
}

/** An engine as noted in Postgres. */
export interface NotedEngine extends EngineAddress {
  /** A UUID. */
  readonly id: string;
  /** The name of the machine, if processes of other machines cannot reach it; otherwise null. */
  readonly machine: string | null;
}

/** Creates the table unless it exists. Safe to call concurrently from many processes. */
export async function createEngineAddresses(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createNotes]);
    await client.query(`create schema if not exists ${schema}`);
    await client.query(
      `create table if not exists ${engines} (id uuid primary key, url text not null, machine text, secret text not null, noted_at timestamptz not null)`,
    );
  });
}

/** Notes that an engine runs, and deletes the notes of engines that were not noted for a while. */
export async function noteEngine(pool: pg.Pool, { id, url, machine, secret }: NotedEngine): Promise<void> {
  await pool.query(
    `insert into ${engines} (id, url, machine, secret, noted_at) values ($1, $2, $3, $4, now()) on conflict (id) do update set noted_at = now()`,
    [id, url, machine, secret],
  );
  await pool.query(`delete from ${engines} where noted_at < now() - interval '${notedFor}'`);
}

/** The address of an engine; null if there is no such engine, or if this machine cannot reach it. */
export async function findEngine(pool: pg.Pool, id: string, machine: string): Promise<EngineAddress | null> {
  const { rows } = await pool.query<EngineAddress>(
    `select url, secret from ${engines} where id = $1 and coalesce(machine, $2) = $2`,
    [id, machine],
  );
  return rows[0] ?? null;
}

export async function forgetEngine(pool: pg.Pool, id: string): Promise<void> {
  await pool.query(`delete from ${engines} where id = $1`, [id]);
}
