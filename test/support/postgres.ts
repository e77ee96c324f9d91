/** Databases in the shared Postgres of the tests (shared-postgres.ts). Each test file creates its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

let databases = 0;

/** Creates an empty database in the shared Postgres. Resolves to its URL, and a function that drops it. */
export async function createDatabase(template = 'template1'): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const shared = process.env['TABLOG_TEST_POSTGRES'];
  if (!shared) throw new Error('the shared Postgres was not started: see test/support/start-postgres.ts');
  databases += 1;
  const name = `test_${process.pid}_${Date.now()}_${databases}`;
  await administer(shared, `create database ${name} template ${template}`, inUse);
  const url = new URL(shared);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(shared, `drop database ${name} with (force)`, inUse) };
}

/** Copies a database that has no connections. Resolves to the copy's URL, and a function that drops the copy. */
export async function cloneDatabase(url: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  return createDatabase(new URL(url).pathname.slice(1));
}

/** Postgres may still count a connection that was just closed. */
const inUse = '55006';
const releasedWithin = 60_000;

/** `again`: the error code on which to retry. */
async function administer(url: string, statement: string, again?: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const giveUpAt = performance.now() + releasedWithin;
  try {
    for (;;) {
      try {
        await client.query(statement);
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== again || performance.now() > giveUpAt) throw error;
        await sleep(50);
      }
    }
  } finally {
    await client.end();
  }
}
