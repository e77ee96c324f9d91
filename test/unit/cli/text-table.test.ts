/** Tables of text: widths, alignment, what is cut, and what a terminal must not get. */
import { describe, expect, test } from '@jest/globals';
import stringWidth from 'string-width';
import { cut, textTable } from '../../../src/cli/text-table.ts';
import { fc } from '../../support/property.ts';

interface Case {
  readonly cells: readonly (readonly string[])[];
  readonly right?: readonly number[];
  readonly width?: number;
  readonly lines: readonly string[];
}

const long = 'abcdefghijklmnopqrstuvwxyz';

test.each<readonly [string, Case]>([
  ['a heading alone', { cells: [['a', 'b']], lines: ['a  b'] }],
  ['no columns', { cells: [[], []], lines: ['', ''] }],
  [
    'columns as wide as their widest cell',
    {
      cells: [
        ['a', 'b'],
        ['xxx', 'y'],
        ['', 'z'],
      ],
      lines: ['a    b', 'xxx  y', '     z'],
    },
  ],
  [
    'numbers on the right, with their heading',
    {
      cells: [
        ['name', 'n'],
        ['x', '-4.20'],
        ['y', '1000'],
      ],
      right: [1],
      lines: ['name      n', 'x     -4.20', 'y      1000'],
    },
  ],
  [
    'wide characters',
    {
      cells: [
        ['a', 'b'],
        ['日本', 'x'],
        ['👩‍👩‍👧', 'y'],
        ['é', 'z'],
      ],
      lines: ['a     b', '日本  x', '👩‍👩‍👧    y', 'é     z'],
    },
  ],
  [
    'what would move the cursor, change colours or turn the text',
    {
      cells: [['a'], ['x\ny\tz\r'], ['\u001b[31m'], ['\u202ex\u009b']],
      lines: ['a', String.raw`x\ny\tz\r`, String.raw`\u001b[31m`, String.raw`\u202ex\u009b`],
    },
  ],
  [
    'a line that just fits',
    {
      cells: [
        ['a', 'b'],
        ['xxxx', 'yyyy'],
      ],
      width: 10,
      lines: ['a     b', 'xxxx  yyyy'],
    },
  ],
  [
    'the widest columns are cut first',
    {
      cells: [
        ['a', 'b', 'c'],
        ['short', long, long],
      ],
      width: 31,
      lines: ['a      b            c', 'short  abcdefghij…  abcdefghij…'],
    },
  ],
  [
    'a heading is cut as well',
    {
      cells: [
        [long, 'b'],
        ['x', 'y'],
      ],
      width: 15,
      lines: ['abcdefghijk…  b', 'x             y'],
    },
  ],
  [
    'a number on the right that is cut',
    {
      cells: [
        ['n', 'b'],
        ['123456789012345', 'x'],
      ],
      right: [0],
      width: 13,
      lines: ['         n  b', '123456789…  x'],
    },
  ],
  [
    'columns that do not fit are counted',
    {
      cells: [
        ['a', 'b', 'c', 'd'],
        [long, long, long, long],
      ],
      width: 34,
      lines: ['a            b            … 2 more', 'abcdefghij…  abcdefghij…'],
    },
  ],
  [
    'one column is always shown',
    {
      cells: [
        ['a', 'b'],
        [long, long],
      ],
      width: 12,
      lines: ['a   … 1 more', 'a…'],
    },
  ],
  ['a terminal that is too narrow for anything', { cells: [['a'], [long]], width: 1, lines: ['a', '…'] }],
])('a table is laid out: %s', (_what, { cells: [heading, ...rest], right = [], width = Infinity, lines }) => {
  expect(textTable(heading!, rest, { isRight: (column) => right.includes(column), width })).toBe(
    `${lines.join('\n')}\n`,
  );
});

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['日本語', 6, '日本語'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['👩‍👩‍👧x', 2, '…'],
  ['', 0, ''],
  ['e\u0301e\u0301', 2, 'e\u0301e\u0301'],
])('%j cut to %d', (text, width, shown) => {
  expect(cut(text, width)).toBe(shown);
});

describe('random tables', () => {
  const cell = fc.string({ unit: 'grapheme', maxLength: 30 });

  test('no line is wider than the terminal, if a column and a note fit', () => {
    const table = fc
      .integer({ min: 1, max: 12 })
      .chain((columns) =>
        fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 5 }),
      );
    fc.assert(
      fc.property(table, fc.integer({ min: 24, max: 120 }), ([heading, ...lines], width) => {
        for (const line of textTable(heading!, lines, { width }).split('\n'))
          expect(stringWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });
});
