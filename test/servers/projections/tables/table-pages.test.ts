/** How Postgres reads a page of a team's tables. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { selectTables, TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { useReadModel } from '../../../support/read-model.ts';

const { database } = useReadModel(1, 'file');

/** Inserts tables of a team, of which every second is deleted. The first was created by the version after `before`. */
async function insertTables(teamId: string, count: number, name: string, before = 0n): Promise<void> {
  await database().pool.query(
    `insert into tables select gen_random_uuid(), $1, $3, $4::int8 + n, 0, n, n, n, 0, 0, 0, null, n % 2 = 0, false from generate_series(1, $2::int) n`,
    [teamId, count, name, before],
  );
}

test.each([null, 'an app'])('a page is read from the index, without sorting all tables (app: %s)', async (appId) => {
  const { pool } = database();
  const teamId = randomUUID();
  await insertTables(teamId, 20_000, 'n');
  await pool.query('analyze tables');
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${selectTables}`, [
    teamId,
    appId,
    5000n,
    randomUUID(),
    100,
    10_000,
  ]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const reading = plan.slice(plan.indexOf('CTE found'), plan.indexOf('CTE', plan.indexOf('CTE found') + 3));
  expect(reading).toMatch(/Index Scan using tables_listed/);
  expect(reading).not.toMatch(/Sort/);
});

describe('where a page ends', () => {
  const team = randomUUID();
  const name = 'a"\u0001é\\';
  /** The JSON of a table, with the comma after it: Postgres escapes as few characters as JSON.stringify does. */
  const bytes = Buffer.byteLength(JSON.stringify({ id: team, name })) + 1;
  /** Versions beyond 2^53 that are not the same in another encoding. */
  const before = 0x7f_80_ff_81_fe_82_fd_83n;
  const from = (created: bigint) => ({ created, id: '00000000-0000-0000-0000-000000000000' });

  beforeAll(() => insertTables(team, 5, name, before));

  test.each<[string, limit: number, bytesMax: number, count: number]>([
    ['all fit', 3, 3 * bytes, 3],
    ['the limit ends it', 2, 3 * bytes, 2],
    ['its bytes end it', 3, 3 * bytes - 1, 2],
    ['the first is in it, however large', 3, 1, 1],
  ])('a page ends where %s', async (_name, limit, bytesMax, count) => {
    const queries = new TableQueries(database());
    const { tables, next } = await queries.list(team, null, null, limit, bytesMax);
    const found = JSON.parse(`[${tables.join(',')}]`) as { readonly id: string; readonly name: string }[];
    expect(found).toEqual(Array.from({ length: count }, () => ({ id: expect.any(String), name })));
    expect(next).toEqual(count === 3 ? null : { created: before + BigInt(2 * count - 1), id: found.at(-1)!.id });
    if (next === null) return;
    const rest = await queries.list(team, null, next, 10);
    expect(JSON.parse(`[${rest.tables.join(',')}]`)).toHaveLength(3 - count);
    expect(rest.next).toBeNull();
  });

  test('no tables are the last page', async () => {
    expect(await new TableQueries(database()).list(team, null, from(before + 6n), 3)).toEqual({
      tables: [],
      next: null,
    });
  });
});
