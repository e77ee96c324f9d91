/**
 * Any place of a table is reached by pages, and each that was reached is remembered (console/src/grid/rows-reader.ts).
 */
import { expect, test } from '@jest/globals';
import type { Table } from '../../../../clients/typescript/src/index.ts';
import { RowsReader, type View } from '../../../../console/src/grid/rows-reader.ts';

/** A table of numbered rows, whose pages hold what is asked, but `pageMax` rows at most. */
function numbered(
  rows: () => number,
  { pageMax = 10_000, generation = (): number => 1 } = {},
): { readonly table: Table; readonly asked: string[] } {
  const asked: string[] = [];
  const table = {
    rows: ({ limit, count }: { limit: number; count?: string }) => ({
      page: async (continuation?: string) => {
        asked.push(`${continuation ?? 'begin'}+${limit}`);
        const from = Number(continuation?.split('/')[1] ?? 0);
        const to = Math.min(rows(), from + Math.min(limit, pageMax));
        return {
          data: Array.from({ length: Math.max(0, to - from) }, (_, index) => ({ $rowID: String(from + index) })),
          version: '"1"',
          ...(to < rows() && { continuation: `${generation()}/${to}` }),
          ...(count !== undefined && { count: rows() }),
        };
      },
    }),
  };
  return { table: table as unknown as Table, asked };
}

const read = async (reader: RowsReader, start: number, count: number): Promise<string> => {
  const rows = await reader.read(start, count, () => undefined);
  return rows.length === 0 ? 'none' : `${rows[0]!.$rowID}..${rows.at(-1)!.$rowID}`;
};

test('a distant place is reached by large pages, and again with one', async () => {
  const { table, asked } = numbered(() => 25_000);
  const reader = new RowsReader(table, {});
  const steps: number[] = [];
  expect((await reader.read(22_500, 500, (step) => steps.push(step))).map(({ $rowID }) => $rowID).slice(0, 2)).toEqual([
    '22500',
    '22501',
  ]);
  expect(steps).toEqual([10_000, 20_000]);
  expect(asked).toEqual(['begin+10000', '1/10000+10000', '1/20000+2500', '1/22500+500']);
  asked.length = 0;
  expect(await read(reader, 20_000, 500)).toBe('20000..20499');
  expect(await read(reader, 24_900, 500)).toBe('24900..24999');
  expect(asked).toEqual(['1/20000+500', '1/23000+1900', '1/24900+500']);
});

test('pages may be shorter than requested, and simultaneous calls take turns', async () => {
  const { table } = numbered(() => 1000, { pageMax: 30 });
  const reader = new RowsReader(table, {});
  expect(
    await Promise.all([read(reader, 500, 100), read(reader, 0, 100), read(reader, 990, 100), read(reader, 2000, 5)]),
  ).toEqual(['500..599', '0..99', '990..999', 'none']);
});

test('the number of rows of a query is requested once', async () => {
  const view: View = { sort: ['n'] };
  const { table } = numbered(() => 40);
  const reader = new RowsReader(table, view);
  expect([reader.isQuery, reader.count, reader.isOf({ sort: ['n'] }), reader.isOf({})]).toEqual([
    true,
    null,
    true,
    false,
  ]);
  await read(reader, 0, 10);
  expect(reader.count).toBe(40);
});

test('places stay valid while rows are added, but not if rows were replaced or have become fewer', async () => {
  let [rows, generation] = [20_000, 1];
  const { table, asked } = numbered(() => rows, { generation: () => generation });
  const reader = new RowsReader(table, {});
  const wayTo = async (): Promise<number> => {
    asked.length = 0;
    await read(reader, 15_000, 10);
    return asked.length;
  };
  await reader.renew(rows);
  expect([await wayTo(), await wayTo()]).toEqual([3, 1]);
  rows += 1;
  await reader.renew(rows);
  expect(await wayTo()).toBe(1);
  rows -= 2;
  await reader.renew(rows);
  expect(await wayTo()).toBe(3);
  generation += 1;
  await reader.renew(rows);
  expect(await wayTo()).toBe(3);
});
