/**
 * Agrees on the language of events that may be written: the newest one that all live processes read
 * (src/language/events/language.ts, docs/decisions/0043). Each process announces the language that it reads by a shared
 * advisory lock, as long as its connection lasts. The agreed language is stored, and never falls.
 */
import type pg from 'pg';
import { advisoryLocks } from '../storage/database/advisory-locks.ts';
import { holdersOf, readModelUsers } from '../storage/database/held-locks.ts';

const schema = 'tablog_languages';

/** One row. `language`: the newest language that may be written, so the log may contain it. */
export const languageNotes = `${schema}.agreed`;

/**
 * Creates the notes unless they exist. Two processes must not run this at once: run it in the transaction of
 * `agreeOnLanguage`, or alone.
 */
export const createLanguageNotes = `create schema if not exists ${schema};
  create table if not exists ${languageNotes} (singleton boolean primary key default true check (singleton), language
  int4 not null);
  insert into ${languageNotes} (language) values (1) on conflict do nothing`;

/** Processes from before languages hold only the lock of the read model. They read language 1. */
const leastRead = `select min(coalesce(key, 1)) from ${readModelUsers} used left join ${holdersOf(advisoryLocks.readLanguage)} reading using (pid)`;

/**
 * Announces, as long as the connection lasts, that this process reads events up to this language. The connection holds
 * `useReadModel`.
 */
export async function registerLanguage(client: pg.Client, reads: number): Promise<void> {
  await client.query('select pg_advisory_lock_shared($1, $2)', [advisoryLocks.readLanguage, reads]);
}

/**
 * Raises the agreed language to the newest one that all live processes read, and resolves to it. If the result is newer
 * than what this process reads, this process cannot read all of the log.
 */
export async function agreeOnLanguage(client: pg.Client): Promise<number> {
  // One transaction, under a lock. A process that registers meanwhile waits for that lock before it reads the note, so
  // it reads the new one.
  const results: unknown = await client.query(`select pg_advisory_xact_lock(${advisoryLocks.agreeOnLanguage});
    ${createLanguageNotes};
    update ${languageNotes} set language = greatest(language, (${leastRead})) returning language`);
  return (results as pg.QueryResult<{ language: number }>[]).at(-1)!.rows[0]!.language;
}
