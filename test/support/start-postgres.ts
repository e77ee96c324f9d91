/** Jest's global set-up: the Postgres that all tests share. */
import { startSharedPostgres, type SharedPostgres } from './postgres.ts';

declare global {
  // oxlint-disable-next-line no-var -- a global of the process that runs Jest
  var sharedPostgres: SharedPostgres | undefined;
}

export default async function startPostgres(): Promise<void> {
  if (globalThis.sharedPostgres) return;
  globalThis.sharedPostgres = await startSharedPostgres();
  process.env['TABLOG_TEST_POSTGRES'] = globalThis.sharedPostgres.url;
  process.stderr.write(`Postgres for the tests: ${globalThis.sharedPostgres.where}\n`);
}
