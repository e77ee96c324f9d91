/** Compaction goes on with other tables where one cannot be merged. */
import { expect, test } from '@jest/globals';
import { compactOnce } from '../../projections/tables/compaction.ts';
import { useOwnApi } from '../support/api.ts';
import { useOperator } from '../support/operator.ts';
import { putChunks } from '../support/stashes.ts';
import { createTable, type MadeTable } from '../support/tables.ts';

const { api, client } = useOwnApi({ MAINTENANCE_INTERVAL_MS: '3600000' });
const operator = useOperator({ api });

/** A table of so many extents, each of so many rows. */
async function tableOf(extents: number, rows: number): Promise<MadeTable> {
  const table = await createTable(client(), [], { n: 'number' });
  const body = Array.from({ length: rows }, () => ({ n: 1 }));
  await putChunks(client(), table.id, Array.from({ length: extents }, (_, serial) => [String(serial), body] as const));
  expect(await client().post(table.path, { $stashID: table.id })).toMatchObject({ status: 201 });
  return table;
}

async function segmentsOf({ id }: MadeTable): Promise<number> {
  const { rows } = await operator().database.pool.query('select count(distinct segment)::int4 as count from extents where table_id = $1', [id]);
  return rows[0].count;
}

test('a table whose small extents have too many rows together keeps them, and others are merged', async () => {
  const unmergeable = await tableOf(20, 8000);
  const other = await tableOf(17, 2);
  const { database } = operator();
  let steps = 0;
  while (await compactOnce(database)) expect(steps += 1).toBeLessThan(200);
  expect(await segmentsOf(unmergeable)).toBe(20);
  expect(await segmentsOf(other)).toBe(1);
});
