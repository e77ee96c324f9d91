/**
 * Subqueries for the advisory locks that are held in this database now. `pid` is the backend of the connection that
 * holds the lock.
 */
import type pg from 'pg';
import { advisoryLocks } from './advisory-locks.ts';

const held = `from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`;

/** The processes that use a read model, of every version. */
export const readModelUsers = holdersOfOne(advisoryLocks.useReadModel);

/** The holders of a lock of one key. */
export function holdersOfOne(key: number): string {
  return `(select distinct pid ${held} and objsubid = 1 and (classid::int8 << 32 | objid::int8) = ${key})`;
}

/** The holders of a lock of two keys, with the second one as `key`. */
export function holdersOf(firstKey: number): string {
  return `(select pid, objid::int8 as key ${held} and objsubid = 2 and classid = ${firstKey})`;
}

/** Processes of versions that do not take the lock `usesReadModel`. Each may use any read model. */
export const unnamedUsers = `(select pid from ${readModelUsers} used where pid not in (select pid from ${holdersOf(advisoryLocks.usesReadModel)} named))`;

/** Whether any process uses, or may use, a read model other than the one in this schema. */
export async function isAnotherReadModelUsed(client: pg.ClientBase, schema: string): Promise<boolean> {
  const {
    rows: [found],
  } = await client.query<{ used: boolean }>(
    // pg_locks shows a key as an unsigned number; hashtext is signed.
    `select exists (select from ${holdersOf(advisoryLocks.usesReadModel)} named where key <> hashtext($1)::int8 & 4294967295) or exists (select from ${unnamedUsers} unnamed) as used`,
    [schema],
  );
  return found!.used;
}
