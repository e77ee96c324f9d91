/** On the embedded Postgres the query processes connect with a read-only role. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createReadingRole } from '../../../../src/api/query/reading-role.ts';
import { Client, outcomeOf } from '../../../support/client.ts';
import { startServer, type TestServer } from '../../../support/server.ts';
import { createTable } from '../../../support/tables.ts';

let server: TestServer | undefined;

afterAll(async () => server?.stop());

test('queries run with the read-only role, which cannot write', async () => {
  server = await startServer();
  const client = new Client(server.url, await server.token());
  const { path } = await createTable(client, [{ n: 1 }, { n: 2 }]);
  expect((await client.get(`${path}?sort=-n`)).json.data.map(({ n }: { n: number }) => n)).toEqual([2, 1]);
  expect(outcomeOf(await client.post('/query', { sql: 'SELECT 1 AS one' }))).toBe('200');

  const postgres = join(server.folder, 'postgres', 'cluster');
  const [, , , port] = (await readFile(join(postgres, 'data', 'postmaster.pid'), 'utf8')).split('\n');
  const url = `postgres://tablog:${(await readFile(join(postgres, 'password'), 'utf8')).trim()}@127.0.0.1:${port}/tablog`;
  const owner = new pg.Pool({ connectionString: url, max: 1 });
  try {
    const { rows } = await owner.query(
      "select count(*)::int as n from pg_stat_activity where usename = 'tablog_queries'",
    );
    expect(rows[0].n).toBeGreaterThan(0);
    const role = new pg.Client({ connectionString: await createReadingRole(owner, url) });
    await role.connect();
    await expect(role.query('delete from tablog_queries.engines')).rejects.toThrow('permission denied');
    await expect(role.query('create table public.t (n int)')).rejects.toThrow('permission denied');
    await role.end();
  } finally {
    await owner.end();
  }
});
