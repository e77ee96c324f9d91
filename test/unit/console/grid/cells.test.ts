/** Cells of the console as text, as links, and in blocks and charts. */
import { expect, test } from '@jest/globals';
import { cellOfText, isSameCell, linkOf, textOfCell } from '../../../../console/src/grid/cell-text.ts';
import type { ColumnType, ScalarKind } from '../../../../src/language/values/column-type.ts';
import { blockBetween, isWithin } from '../../../../console/src/grid/range.ts';
import { numberOf, parseJson } from '../../../../console/src/ui/json-tokens.ts';
import { chartOf } from '../../../../console/src/query/chart-data.ts';

test.each<[type: ColumnType, text: string, value: unknown]>([
  ['string', '', null],
  ['string', ' 7 ', ' 7 '],
  ['number', '1 000.5', 1000.5],
  ['number', '-1e3', -1000],
  ['boolean', 'TRUE', true],
  ['boolean', 'false', false],
  ['json', '{"a": 1}', { a: 1 }],
  ['array<string>', '["a", "b"]', ['a', 'b']],
  ['date', '2024-03-01', '2024-03-01'],
  ['string', '4.20', '4.20'],
  ['string', '9007199254740993', '9007199254740993'],
  ['array<string>', '["a", "4.20"]', ['a', '4.20']],
])('in a column of %s, %j is %j', (type, text, value) => {
  expect(cellOfText(type, text)).toEqual(value);
  expect(cellOfText(type, textOfCell(value))).toEqual(value);
});

test('numbers in a list of texts keep their digits', () => {
  expect(cellOfText('array<string>', '["a", 4.20, 9007199254740993]')).toEqual(['a', '4.20', '9007199254740993']);
});

test('numbers are shown and sent with their digits', () => {
  const text =
    '{"data":[{"a":4.20,"b":0.1234567890123456789,"c":1e3,"d":-0,"e":0.0000001,"f":1000000000000000000000,"g":[1.50,{"x":2.0}],"h":7,"i":"4.20"}]}';
  const { data } = parseJson(text) as { data: readonly Record<string, unknown>[] };
  expect(Object.values(data[0]!).map(textOfCell)).toEqual([
    '4.20',
    '0.1234567890123456789',
    '1e3',
    '-0',
    '0.0000001',
    '1000000000000000000000',
    '[1.50,{"x":2.0}]',
    '7',
    '4.20',
  ]);
  expect([numberOf(data[0]!['a']), numberOf(data[0]!['h']), numberOf(data[0]!['i'])]).toEqual([4.2, 7, null]);
  expect(data[0]!['h']).toBe(7);
  expect(JSON.stringify(parseJson(text))).toBe(text);
  expect(isSameCell(data[0], (parseJson(text) as { data: readonly unknown[] }).data[0])).toBe(true);
  expect(isSameCell(data[0]!['a'], 4.2)).toBe(false);
  expect(JSON.stringify(cellOfText('json', '{"a": 4.20, "b": 0.1234567890123456789}'))).toBe(
    '{"a":4.20,"b":0.1234567890123456789}',
  );
});

test.each<[type: ColumnType, text: string, message: string]>([
  ['number', 'many', 'many is not a number.'],
  ['number', 'Infinity', 'Infinity is not a number.'],
  ['boolean', 'yes', 'yes is neither true nor false.'],
  ['json', '{a}', '{a} is not valid JSON.'],
  ['array<number>', '{"a":1}', '{"a":1} is not a list. Write it in square brackets, such as ["a", "b"].'],
  [
    'number',
    '9007199254740993',
    '9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.',
  ],
  [
    'json',
    '{"a": ["9007199254740993", {"b": 9007199254740993}]}',
    '9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.',
  ],
  [
    'array<number>',
    '[1, -9007199254740993]',
    '-9007199254740993 cannot be stored exactly as a number: it would become -9007199254740992.',
  ],
  ['array<number>', '["a"]', '["a"] does not fit the type array<number>.'],
  ['date', '01.02.2024', '01.02.2024 is not a date. Write it as in 2024-03-01.'],
  ['time', 'noon', 'noon is not a time. Write it as in 10:30.'],
  ['emailAddress', 'a', 'a is not an e-mail address.'],
  ['date', 'x'.repeat(1000), `${'x'.repeat(60)}… is not a date. Write it as in 2024-03-01.`],
])('a column of %s does not accept %j', (type, text, message) => {
  expect(() => cellOfText(type, text)).toThrow(message);
});

test('values are equal whatever the order of their keys', () => {
  expect(isSameCell({ a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 })).toBe(true);
  expect(isSameCell(undefined, null)).toBe(true);
  expect(isSameCell([1, 2], [2, 1])).toBe(false);
  expect(isSameCell('1', 1)).toBe(false);
});

test.each<[type: ScalarKind, text: string, link: string | null]>([
  ['string', 'https://example.org', null],
  ['uri', 'https://example.org/a?b=c', 'https://example.org/a?b=c'],
  ['uri', 'javascript:alert(1)', null],
  ['imageURI', 'data:text/html,<script>', null],
  ['uri', 'mailto:a@b.c', null],
  ['emailAddress', 'a@example.org?cc=b', 'mailto:a%40example.org%3Fcc%3Db'],
  ['phoneNumber', '+43 (1) 234', 'tel:+431234'],
])('a link of a %s %j leads to %j', (type, text, link) => {
  expect(linkOf(type, text)).toBe(link);
});

test('a block reaches from one cell to another, in any direction', () => {
  const block = blockBetween({ row: 5, columnID: 'c' }, { row: 2, columnID: 'b' }, ['a', 'b', 'c', 'd']);
  expect(block).toEqual({ top: 2, bottom: 5, columns: ['b', 'c'] });
  expect([
    isWithin(block, { row: 2, columnID: 'c' }),
    isWithin(block, { row: 6, columnID: 'c' }),
    isWithin(block, { row: 3, columnID: 'a' }),
  ]).toEqual([true, false, false]);
});

test('a chart draws numbers over moments, numbers or names', () => {
  const answer = (
    types: Record<string, 'number' | 'string' | 'date'>,
    data: object[],
  ): Parameters<typeof chartOf>[0] => {
    return {
      columns: Object.entries(types).map(([name, type]) => ({ name, type })),
      data: data as never[],
      versions: {},
    };
  };
  expect(
    chartOf(
      answer({ day: 'date', total: 'number' }, [
        { day: '1970-01-02', total: 2 },
        { day: '1970-01-01', total: 1 },
        { total: 3 },
      ]),
    ),
  ).toEqual({
    kind: 'time',
    across: 'day',
    series: ['total'],
    names: [],
    leftOut: [],
    values: [
      [0, 86_400],
      [1, 2],
    ],
  });
  expect(
    chartOf(
      answer({ x: 'number', y: 'number' }, [
        { x: 2, y: 1 },
        { x: 1, y: null },
      ]),
    ),
  ).toMatchObject({
    kind: 'number',
    values: [
      [1, 2],
      [null, 1],
    ],
  });
  expect(chartOf(answer({ name: 'string', a: 'number' }, [{ name: 'z', a: 1 }, { a: 2 }]))).toMatchObject({
    kind: 'name',
    names: ['z', ''],
    values: [
      [0, 1],
      [1, 2],
    ],
  });
  const many = chartOf(
    answer(
      { x: 'number', a: 'number', b: 'number', c: 'number', d: 'number', e: 'number', f: 'number', g: 'number' },
      Array.from({ length: 12_345 }, (_, x) => ({ x })),
    ),
  )!;
  expect([many.values[0]!.length, many.series.length]).toEqual([5000, 6]);
  expect(many.leftOut).toEqual([
    'First 5,000 rows of 12,345. Group rows in the query to draw all.',
    'First 6 columns of 7. Select fewer in the query.',
  ]);
  expect(chartOf(answer({ name: 'string' }, [{ name: 'z' }]))).toBeNull();
  expect(chartOf(answer({ n: 'number' }, [{ n: 1 }]))).toBeNull();
  expect(chartOf(answer({ name: 'string', n: 'number' }, []))).toBeNull();
});
