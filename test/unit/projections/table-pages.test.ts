/** Where a page of tables ends. */
import { expect, test } from '@jest/globals';
import { cutPage } from '../../../projections/tables/tables.queries.ts';

const found = ['a', 'b', 'c'].map((name, at) => ({ id: `id-${name}`, name: name.repeat(10), created: BigInt(at) }));
/** The JSON of each, with the comma after it. */
const bytes = JSON.stringify({ id: 'id-a', name: 'a'.repeat(10) }).length + 1;

test.each<[string, limit: number, bytesMax: number, count: number]>([
  ['all fit', 3, 3 * bytes, 3],
  ['the limit ends it', 2, 3 * bytes, 2],
  ['its bytes end it', 3, 3 * bytes - 1, 2],
  ['the first is in it, however large', 3, 1, 1],
])('%s', (_name, limit, bytesMax, count) => {
  const { tables, next } = cutPage(found, limit, bytesMax);
  expect(tables).toEqual(found.slice(0, count).map(({ id, name }) => ({ id, name })));
  expect(next).toEqual(count === 3 ? null : { created: found[count - 1]!.created, id: found[count - 1]!.id });
});

test('bytes count as they are sent', () => {
  const escaped = found.map((table) => ({ ...table, name: '\u0001'.repeat(10) }));
  expect(cutPage(escaped, 3, 3 * bytes).tables).toHaveLength(1);
  expect(cutPage(escaped, 3, 3 * (bytes + 50)).tables).toHaveLength(3);
});

test('no tables are the last page', () => {
  expect(cutPage([], 3)).toEqual({ tables: [], next: null });
});
