/** Text of the clipboard as cells, and cells as values of columns. */
import { expect, test } from '@jest/globals';
import { TablogError, type Version } from '../../../../clients/typescript/src/index.ts';
import { describeRefusal, type RowWrites } from '../../../../console/src/grid/guarded-rows.ts';
import { filling } from '../../../../console/src/grid/range.ts';
import { rowsOfCells } from '../../../../console/src/grid/pasted-rows.ts';
import { cellsOfText, textOfCells } from '../../../../console/src/grid/tabbed-text.ts';
import type { Column } from '../../../../console/src/tables/column-types.ts';

test.each<[what: string, text: string, lines: string[][]]>([
  [
    'Excel ends each line',
    'a\tb\r\nc\td\r\n',
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  [
    'Google Sheets does not end the last',
    'a\tb\nc\td',
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  ['carriage returns end lines', 'a\rb\r', [['a'], ['b']]],
  ['a tab in a cell', '"a\tb"\tc', [['a\tb', 'c']]],
  [
    'lines in a cell',
    '"one\ntwo"\tx\r\n"three\r\nfour"\ty\r\n',
    [
      ['one\ntwo', 'x'],
      ['three\r\nfour', 'y'],
    ],
  ],
  ['quotes in a cell of Excel', '"6"" x 5"""\t"""c"""', [['6" x 5"', '"c"']]],
  ['quotes in a cell of Google Sheets', '6" x 5"\ta"b', [['6" x 5"', 'a"b']]],
  [
    'a quote that never ends',
    '"quoted start\tx\nsecond\ty\n',
    [
      ['"quoted start', 'x'],
      ['second', 'y'],
    ],
  ],
  [
    'a quote that ends within a text',
    '"a" and b\tx\nc\ty',
    [
      ['"a" and b', 'x'],
      ['c', 'y'],
    ],
  ],
  ['several quotes that never end', '"a\n"b\n"c\td', [['"a'], ['"b'], ['"c', 'd']]],
  [
    'an unended quote before a quoted cell',
    '"a\tx\n"b\tc"\ty',
    [
      ['"a', 'x'],
      ['b\tc', 'y'],
    ],
  ],
  ['a single quote', '"', [['"']]],
  ['three quotes', '"""', [['"""']]],
  ['a quoted empty cell', '""\tx', [['', 'x']]],
  [
    'empty cells',
    '\t\n\t\n',
    [
      ['', ''],
      ['', ''],
    ],
  ],
  ['an empty cell of Excel', '\r\n', [['']]],
  ['an empty last line', 'a\n\n', [['a'], ['']]],
  ['lines of different lengths', 'a\nb\tc', [['a'], ['b', 'c']]],
  ['blanks', ' a \t" b "', [[' a ', ' b ']]],
  ['nothing', '', []],
])('a pasted text becomes cells: %s: %j', (_, text, lines) => {
  expect(cellsOfText(text)).toEqual(lines);
  // What the console copies it reads as the same.
  expect(cellsOfText(textOfCells(lines))).toEqual(lines);
});

test('copied cells have quotes only if a cell needs them', () => {
  expect(
    textOfCells([
      ['a', ' b '],
      ['c\td', '"'],
      ['', 'e\nf'],
    ]),
  ).toBe('a\t b \n"c\td"\t""""\n\t"e\nf"');
});

test('the time to read many quotes is linear in the text', () => {
  for (const cell of ['"', '""', '"""', '"x""', '""x', '"\t'])
    expect(cellsOfText(`${cell}\n`.repeat(200_000)).length).toBeGreaterThan(0);
});

const columns: readonly Column[] = [
  { id: 'day', type: 'date' },
  { id: 'n', displayName: 'Price', type: 'number' },
];

test('pasted cells become values of their columns, and empty cells empty them', () => {
  expect(rowsOfCells(columns, [['2024-02-01', '4.20', ''], ['', '-1'], ['2024-02-02']])).toEqual([
    { day: '2024-02-01', n: 4.2 },
    { day: null, n: -1 },
    { day: '2024-02-02' },
  ]);
});

test.each<[lines: string[][], message: string]>([
  [
    [['2024-02-01'], ['01.02.2024'], ['2024-02-03']],
    'Line 2: 01.02.2024 is not a date. Write it as in 2024-03-01. Nothing was changed.',
  ],
  [
    [
      ['2024-02-01', '1'],
      ['2024-02-01', '1,5'],
    ],
    'Line 2, column Price: 1,5 is not a number. Use a decimal point, and no commas. Nothing was changed.',
  ],
  [
    [['2024-02-01', '9007199254740993']],
    'Line 1, column Price: 9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992. Nothing was changed.',
  ],
  [
    [['2024-02-01'], ['2024-02-01', '1', 'lost']],
    'Line 2 has 3 cells, but only 2 columns can take them. Nothing was changed.',
  ],
])('pasted lines %j are refused with %s', (lines, message) => {
  expect(() => rowsOfCells(columns, lines)).toThrow(message);
});

test.each<[cells: string[][], filled: string[][]]>([
  [
    [['a']],
    [
      ['a', 'a'],
      ['a', 'a'],
      ['a', 'a'],
      ['a', 'a'],
    ],
  ],
  [
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  // What does not fit a whole number of times is pasted once.
  [
    [['a'], ['b'], ['c']],
    [['a'], ['b'], ['c']],
  ],
  [[['a', 'b', 'c']], [['a', 'b', 'c']]],
  [
    [['a', 'b'], ['c']],
    [['a', 'b'], ['c']],
  ],
])('%j in a block of 4 rows and 2 columns is pasted as %j', (cells, filled) => {
  expect(filling(cells, { top: 3, bottom: 6, columns: ['x', 'y'] })).toEqual(filled);
});

test.each<[said: string, shown: string]>([
  ['operations[0]: the row would have 2 bytes', 'Row 7: the row would have 2 bytes. Nothing was changed.'],
  ['operations[1].row.a: b: it is wrong', 'Row 9, column a: b: it is wrong. Nothing was changed.'],
  ['operations[3].row.a: it is wrong', 'New row 2, column a: it is wrong. Nothing was changed.'],
  ['the request patches 3 rows', 'This is too much for one step. Nothing was changed. Take fewer rows at a time.'],
])('the refusal %j is shown as %j', (said, shown) => {
  const change = (place: number): RowWrites['changes'][number] => ({
    seen: { place, row: { $rowID: `${place}` }, version: '"1"' as Version },
    after: {},
  });
  const refusal = describeRefusal(new TablogError(400, 'limit_exceeded', said), {
    changes: [change(7), change(9)],
    added: [{}, {}],
  });
  expect((refusal as Error).message).toBe(shown);
});
