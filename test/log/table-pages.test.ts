/** How Postgres reads a page of a team's tables. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { selectTables } from '../../projections/tables/tables.queries.ts';
import { useReadModel } from '../support/read-model.ts';

const { database } = useReadModel(1, 'file');

test.each([null, 'an app'])('a page is read from the index, without sorting all tables (app: %s)', async (appId) => {
  const { pool } = database();
  const teamId = randomUUID();
  await pool.query(
    `insert into tables select gen_random_uuid(), $1, 'n', n, 0, n, n, n, 0, 0, 0, null, n % 2 = 0, false from generate_series(1, 20000) n`,
    [teamId],
  );
  await pool.query('analyze tables');
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${selectTables}`, [teamId, appId, 5000n, randomUUID(), 100]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/Index Scan using tables_listed/);
  expect(plan).not.toMatch(/Sort/);
});
