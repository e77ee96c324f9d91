/** Which cells gave a column another type than its first rows. */
import { expect, test } from '@jest/globals';
import type { Format } from '../../../../clients/file-import/file-format.ts';
import { sourceOfBlob } from '../../../../clients/file-import/source-of-blob.ts';
import { findWidened, type ExpectedColumn } from '../../../../clients/file-import/widened-columns.ts';
import type { ColumnType } from '../../../../src/language/values/column-type.ts';

const signal = new AbortController().signal;

function find(
  format: Format,
  content: string,
  expected: readonly ExpectedColumn[],
  now: Readonly<Record<string, ColumnType>>,
): ReturnType<typeof findWidened> {
  return findWidened(
    () => sourceOfBlob(new File([content], `file.${format}`)),
    { format, encoding: 'utf-8', signal },
    expected,
    new Map(Object.entries(now)),
  );
}

const inferred = (id: string, type: ColumnType): ExpectedColumn => ({ id, type, isOfTable: false });
const numbers = Array.from({ length: 2_500 }, (_, row) => `${row},2024-01-01\n`).join('');

test('counts the cells that do not fit, and finds the line of the first one, also after the first chunk', async () => {
  expect(
    await find(
      'csv',
      `n,day\n${numbers}"n/\na",2024-01-02\n1,soon\nnone,later\n`,
      [inferred('n', 'number'), inferred('day', 'date')],
      { n: 'string', day: 'string' },
    ),
  ).toEqual([
    {
      id: 'n',
      expected: 'number',
      type: 'string',
      cells: 2,
      first: { line: 2502, text: 'n/\na' },
      next: [{ line: 2505, text: 'none' }],
      help: { null: ['none'] },
    },
    {
      id: 'day',
      expected: 'date',
      type: 'string',
      cells: 2,
      first: { line: 2504, text: 'soon' },
      next: [{ line: 2505, text: 'later' }],
      help: {},
    },
  ]);
});

test('numbers that the service infers as text do not fit a new column of numbers, but fit a column of the table', async () => {
  const file = 'n\n1\n1234567890123456\n';
  expect(await find('csv', file, [inferred('n', 'number')], { n: 'string' })).toMatchObject([
    { cells: 1, first: { line: 3, text: '1234567890123456' } },
  ]);
  expect(await find('csv', file, [{ id: 'n', type: 'number', isOfTable: true }], { n: 'string' })).toEqual([]);
});

test('finds JSON of other kinds, and long texts', async () => {
  const file = `{"n":1,"s":[1]}\n{"n":{"a":1},"s":[]}\n{"n":"${'x'.repeat(100)}","s":["a"]}\n`;
  expect(
    await find('ndjson', file, [inferred('n', 'number'), inferred('s', 'array<number>')], {
      n: 'json',
      s: 'array<string>',
    }),
  ).toEqual([
    {
      id: 'n',
      expected: 'number',
      type: 'json',
      cells: 2,
      first: { line: 2, text: '{"a":1}' },
      next: [{ line: 3, text: `${'x'.repeat(59)}…` }],
      help: {},
    },
    {
      id: 's',
      expected: 'array<number>',
      type: 'array<string>',
      cells: 1,
      first: { line: 3, text: '["a"]' },
      next: [],
      help: {},
    },
  ]);
  expect(await find('ndjson', `{"n":"${'x'.repeat(100)}"}`, [inferred('n', 'number')], { n: 'string' })).toMatchObject([
    { first: { line: 1, text: `${'x'.repeat(59)}…` } },
  ]);
});

test('leaves out columns with the expected type, missing columns, and those that others have changed', async () => {
  expect(
    await find('csv', 'a,b,c\n1,x,1\n', [inferred('a', 'number'), inferred('b', 'number'), inferred('c', 'number')], {
      a: 'number',
      c: 'string',
    }),
  ).toEqual([]);
});

test('returns the first three cells, and what would help', async () => {
  const file = `n\n${'1\n'.repeat(9)}NA\n-\nx\ny\n`;
  expect(await find('csv', file, [inferred('n', 'number')], { n: 'string' })).toEqual([
    {
      id: 'n',
      expected: 'number',
      type: 'string',
      cells: 4,
      first: { line: 11, text: 'NA' },
      next: [
        { line: 12, text: '-' },
        { line: 13, text: 'x' },
      ],
      help: { null: ['NA', '-'] },
    },
  ]);
});
