/**
 * Removes read models of earlier versions once no process uses them. First it renames the schema: a process that opens
 * the read model later finds none, and fills a new one. Then it drops one table after another.
 */
import type pg from 'pg';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { unnamedUsers } from '../../storage/database/held-locks.ts';
import { inTransaction } from '../../storage/database/transaction.ts';

const suffix = '_superseded';

/** Also finds what an interrupted replay left. If the current schema has no number in its name, finds nothing. */
const findSuperseded = `select nspname as name from pg_namespace
  where nspname ~ '^tablog_[0-9]+(_rebuild|_replaced)?(${suffix})?$'
    and substring(nspname from '^tablog_([0-9]+)')::int8 < substring($1::text from '^tablog_([0-9]+)$')::int8
  order by nspname like '%\\${suffix}' desc, nspname`;

/**
 * How long a step waits for the lock on a table. An autovacuum gives way after a second; a backup of Postgres does not.
 */
const lockTimeout = "set local lock_timeout = '5s'";

/**
 * Does one step: renames one schema, or drops at most one table. `current` is the schema of the read model in use.
 * Resolves to whether it did something. Rejects if another transaction uses the table for more than 5 s.
 */
export async function removeSuperseded(pool: pg.Pool, current: string): Promise<boolean> {
  const { rows } = await pool.query<{ name: string }>(findSuperseded, [current]);
  for (const { name } of rows) {
    if (await inTransaction(pool, (client) => (name.endsWith(suffix) ? dropOne(client, name) : retire(client, name))))
      return true;
  }
  return false;
}

async function dropOne(client: pg.ClientBase, schema: string): Promise<boolean> {
  await client.query(lockTimeout);
  const {
    rows: [table],
  } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = $1 order by 1 limit 1',
    [schema],
  );
  await client.query(
    table === undefined
      ? `drop schema if exists ${schema} cascade`
      : `drop table if exists ${schema}.${table.name} cascade`,
  );
  return true;
}

/** Renames a read model that no process uses and no replay builds. Resolves to whether it did. */
async function retire(client: pg.ClientBase, schema: string): Promise<boolean> {
  const used = /^tablog_\d+/.exec(schema)![0];
  const {
    rows: [free],
  } = await client.query<{ unused: boolean; unbuilt: boolean; named: boolean }>(
    `select pg_try_advisory_xact_lock($1, hashtext($2)) as unused, pg_try_advisory_xact_lock($3) as unbuilt, not exists (select from ${unnamedUsers} unnamed) as named`,
    [advisoryLocks.usesReadModel, used, advisoryLocks.replaceReadModel],
  );
  if (!free!.unused || !free!.unbuilt || !free!.named) return false;
  await client.query(`alter schema ${schema} rename to ${schema}${suffix}`);
  return true;
}
