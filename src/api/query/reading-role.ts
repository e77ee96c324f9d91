/** The read-only Postgres role of query processes. */
import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { inTransaction } from '../../storage/database/transaction.ts';

const role = 'tablog_queries';

/**
 * Creates the role, or makes sure that it can log in. Only for a server that Tablog has for itself, such as the
 * embedded one: roles belong to all databases of a server, and creating one takes a superuser. Safe to call
 * concurrently from many processes. `url` is the superuser's URL. Resolves to the URL for the role.
 */
export async function createReadingRole(pool: pg.Pool, url: string): Promise<string> {
  const { href, password } = withRole(url);
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createNotes]);
    const { rows } = await client.query('select from pg_roles where rolname = $1', [role]);
    if (rows.length === 0) await client.query(`create role ${role}`);
    await client.query(`alter role ${role} login nosuperuser password '${password}'`);
    await client.query(`grant pg_read_all_data to ${role}`);
  });
  return href;
}

/**
 * Derives the role's password from the superuser's, so that all processes agree on it. The HMAC cannot be reversed, so
 * the role's password does not reveal the superuser's.
 */
function withRole(url: string): { readonly href: string; readonly password: string } {
  const changed = new URL(url);
  const password = createHmac('sha256', decodeURIComponent(changed.password)).update(role).digest('hex');
  changed.username = role;
  changed.password = password;
  return { href: changed.href, password };
}
