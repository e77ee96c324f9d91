/** Checks that the Postgres of `DATABASE_URL` can be used, and explains failures in terms of that setting. */
import pg from 'pg';
import { ConfigError } from '../config-error.ts';
import { isDatabaseAway } from './database-away.ts';

const versionMin = 150_000;

/** Remedies for the usual connection errors of Postgres, by SQLSTATE. */
const advice: Readonly<Record<string, string>> = {
  '28P01': '; correct the user or the password in it',
  '28000': '; name a user who may log in',
  '3D000': '; make that database, or name another one',
  '42501': '; give the user the right to connect, or name another one',
};

/**
 * Connects once. Rejects with ConfigError when Postgres refuses the connection or is too old; with the driver's error
 * when it cannot be reached (`isDatabaseAway`), which may be temporary.
 */
export async function checkPostgres(url: string): Promise<void> {
  try {
    const { number, version } = await askVersion(url);
    if (number < versionMin) throw new ConfigError([`DATABASE_URL: it is Postgres ${version}; 15 or later is needed`]);
  } catch (error) {
    if (error instanceof ConfigError || isDatabaseAway(error)) throw error;
    throw new ConfigError([`DATABASE_URL: Postgres cannot be used with it: ${explain(error as Error)}`], {
      cause: error,
    });
  }
}

function explain({ message, code = '' }: NodeJS.ErrnoException): string {
  // The driver's own message is about its internals.
  if (message.includes('client password must be a string')) return 'it asks for a password, and there is none in it';
  return message + (advice[code] ?? '');
}

async function askVersion(url: string): Promise<{ readonly number: number; readonly version: string }> {
  const client = new pg.Client({ connectionString: url, application_name: 'tablog', connectionTimeoutMillis: 5000 });
  // Ignored here: a broken connection also fails the query that runs on it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query(
      `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
    );
    return rows[0];
  } finally {
    await client.end();
  }
}
