/** What a copy holds in memory while a row is added is bounded, however many columns it has. */
import { expect, test } from '@jest/globals';
import { holdsFor, isGoodFor, layoutOf, segmentsOf } from '../../../../../src/api/query/engine/layout.ts';
import { areMany, Parts, withParts } from '../../../../../src/api/query/engine/parts.ts';
import type { ColumnType } from '../../../../../src/language/values/column-type.ts';
import { schemaOf } from '../../../../../src/language/values/table-schema.ts';

function segmentsWith(columns: number, type: ColumnType): number {
  return segmentsOf(
    schemaOf(
      Array.from({ length: columns }, (_, at) => ({ id: `c${at}`, type })),
      1n,
    ).columns,
  );
}

test.each<[number, ColumnType, number]>([
  [0, 'number', 8],
  [10, 'number', 8],
  [100, 'string', 8],
  [200, 'number', 8],
  [400, 'number', 16],
  [1000, 'number', 32],
  [1000, 'array<string>', 64],
])('a copy of %d columns of %s', (columns, type, mostMiB) => {
  const segments = segmentsWith(columns, type);
  const layout = layoutOf(segments);
  expect(holdsFor(layout, segments)).toBeLessThanOrEqual(mostMiB * 1024 * 1024);
  expect(isGoodFor(layout, segments)).toBe(true);
  expect([Math.log2(layout.blockBytes) % 1, layout.rowGroupRows % 2048]).toEqual([0, 0]);
});

test('a layout for few columns does not fit a table of many columns', () => {
  const layout = layoutOf(segmentsWith(10, 'number'));
  expect([isGoodFor(layout, segmentsWith(11, 'number')), isGoodFor(layout, segmentsWith(400, 'number'))]).toEqual([
    true,
    false,
  ]);
});

test.each<[ColumnType, number]>([
  ['number', 128],
  ['array<string>', 32],
])('a part has no more columns of %s than %d, and those that come later have the next one', (type, most) => {
  const parts = new Parts();
  expect(Array.from({ length: 300 }, () => parts.next(type))).toEqual(
    Array.from({ length: 300 }, (_, at) => Math.floor(at / most)),
  );
  expect([
    areMany(Array.from({ length: most }, () => type)),
    areMany(Array.from({ length: most + 1 }, () => type)),
  ]).toEqual([false, true]);
});

test('a query joins the parts that it reads', () => {
  expect(withParts('a.rows', [{ part: 0 }])).toBe('a.rows');
  expect(withParts('a.rows', [{ part: 2 }, { part: 0 }, { part: 1 }, { part: 2 }])).toBe(
    'a.rows LEFT JOIN a.rows_1 USING (n, since) LEFT JOIN a.rows_2 USING (n, since)',
  );
});
