import { expect, test } from '@jest/globals';
import { countRowsOf, type RowRange } from '../../../../src/language/events/outcome.ts';

const range: RowRange = { version: 7n, ordinal: 0, first: 0, count: 3 };

test.each<[string, readonly RowRange[], number]>([
  ['none', [], 0],
  ['of one extent', [range], 3],
  ['of several extents with as many rows each', [{ ...range, extents: 1000 }], 3000],
  ['of both', [range, { ...range, ordinal: 1, count: 5, extents: 2 }], 13],
])('the rows of ranges are counted: %s', (_name, ranges, rows) => {
  expect(countRowsOf(ranges)).toBe(rows);
});
