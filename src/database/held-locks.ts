/** Subqueries for the advisory locks that are held in this database now. `pid` is the backend of the connection that holds the lock. */
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
