/**
 * Which language of events may be written: the newest that all live processes read (src/language/events/language.ts,
 * docs/decisions/0043). Each process says what it reads by a shared advisory lock, for as long as its connection lasts.
 * What may be written is noted, and never falls.
 */
import type pg from 'pg';
import { advisoryLocks } from '../storage/database/advisory-locks.ts';
import { holdersOf, readModelUsers } from '../storage/database/held-locks.ts';

const schema = 'tablog_languages';

/** `language`, of one row: the newest that may be written, so that the log may hold it. */
export const languageNotes = `${schema}.agreed`;

/** Creates it unless it exists. Not to be run by two at once: in the transaction of `agreeOnLanguage`, or alone. */
export const createLanguageNotes = `create schema if not exists ${schema};
  create table if not exists ${languageNotes} (singleton boolean primary key default true check (singleton), language
  int4 not null);
  insert into ${languageNotes} (language) values (1) on conflict do nothing`;

/** A process of a version from before languages holds the lock of the read model only, and reads the first. */
const leastRead = `select min(coalesce(key, 1)) from ${readModelUsers} used left join ${holdersOf(advisoryLocks.readLanguage)} reading using (pid)`;

/**
 * Says for as long as the connection lasts that this process reads events up to this language. The connection holds
 * `useReadModel`.
 */
export async function registerLanguage(client: pg.Client, reads: number): Promise<void> {
  await client.query('select pg_advisory_lock_shared($1, $2)', [advisoryLocks.readLanguage, reads]);
}

/**
 * Raises the language that may be written to the newest one that all live processes read, and resolves to it. It may be
 * newer than what this process reads: then this process cannot read all of the log.
 */
export async function agreeOnLanguage(client: pg.Client): Promise<number> {
  // One transaction, under a lock. A process that registers meanwhile waits for that lock before it reads the note, so
  // it reads the new one.
  const results: unknown = await client.query(`select pg_advisory_xact_lock(${advisoryLocks.agreeOnLanguage});
    ${createLanguageNotes};
    update ${languageNotes} set language = greatest(language, (${leastRead})) returning language`);
  return (results as pg.QueryResult<{ language: number }>[]).at(-1)!.rows[0]!.language;
}
