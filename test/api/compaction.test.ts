/** If one table cannot be merged, compaction goes on with the others. */
import { expect, test } from '@jest/globals';
import { compactOnce, convertExtent } from '../../projections/tables/compaction.ts';
import { UnconvertibleExtents } from '../../projections/tables/unconvertible-extents.ts';
import { useOwnApi } from '../support/api.ts';
import { useOperator } from '../support/operator.ts';
import { putChunks } from '../support/stashes.ts';
import { createTable, type MadeTable } from '../support/tables.ts';

const { api, client } = useOwnApi({ MAINTENANCE_INTERVAL_MS: '3600000' });
const operator = useOperator({ api });

/** A table with this many extents, each with this many rows. */
async function tableOf(extents: number, rows: number): Promise<MadeTable> {
  const table = await createTable(client(), [], { n: 'number' });
  const body = Array.from({ length: rows }, () => ({ n: 1 }));
  await putChunks(
    client(),
    table.id,
    Array.from({ length: extents }, (_, serial) => [String(serial), body] as const),
  );
  expect(await client().post(table.path, { $stashID: table.id })).toMatchObject({ status: 201 });
  return table;
}

/** A table whose rows have another column order than the schema. */
async function tableToConvert(): Promise<MadeTable> {
  const table = await createTable(client(), [], { a: 'number', b: 'number' });
  await putChunks(client(), table.id, [
    [
      '0',
      [
        { b: 1, a: 1 },
        { b: 2, a: 2 },
      ],
    ],
  ]);
  expect(await client().post(table.path, { $stashID: table.id })).toMatchObject({ status: 201 });
  return table;
}

async function segmentsOf({ id }: MadeTable): Promise<number> {
  const { rows } = await operator().database.pool.query(
    'select count(distinct segment)::int4 as count from extents where table_id = $1',
    [id],
  );
  return rows[0].count;
}

test('a table keeps its small extents if they have too many rows together; those of other tables are merged', async () => {
  const unmergeable = await tableOf(20, 8000);
  const other = await tableOf(17, 2);
  const { database } = operator();
  let steps = 0;
  while (await compactOnce(database)) expect((steps += 1)).toBeLessThan(200);
  expect(await segmentsOf(unmergeable)).toBe(20);
  expect(await segmentsOf(other)).toBe(1);
});

test('an extent with an unreadable body is reported, and all others are converted', async () => {
  const { database } = operator();
  while (await compactOnce(database));
  const tables = [await tableToConvert(), await tableToConvert(), await tableToConvert()];
  const damaged = tables[0]!;
  const {
    rows: [first],
  } = await database.pool.query<{ key: string; segment: string }>(
    'select key, segment from extents where table_id = $1',
    [damaged.id],
  );
  await database.pool.query(`update segment_rows set body = '{"\\x":1}' where segment = $1 and index = 1`, [
    first!.segment,
  ]);

  const unconvertible = new UnconvertibleExtents();
  const failures: string[] = [];
  for (let isDone = false; !isDone;) {
    isDone = await convertExtent(database, unconvertible).then(
      (found) => !found,
      (error: Error) => {
        failures.push(error.message);
        return failures.length > 1;
      },
    );
  }

  expect(failures).toEqual([`the rows of extent ${first!.key}, in segment ${first!.segment}, cannot be converted`]);
  const { rows: left } = await database.pool.query(
    'select table_id as id from extents where presented is null and table_id = any($1::uuid[])',
    [tables.map(({ id }) => id)],
  );
  expect(left).toEqual([{ id: damaged.id }]);
});
