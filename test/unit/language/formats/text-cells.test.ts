/**
 * Which columns came to be text because of a few cells, and what a person can say of these (docs/spec/decisions.md 2,
 * "Notes").
 */
import { expect, test } from '@jest/globals';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { TextCells, noteText } from '../../../../src/language/formats/text-cells.ts';
import { readCells } from './read-cells.ts';

/** The notes on a file with one column `c`, of which each cell is quoted. */
function notesOn(cells: readonly string[], form: DelimitedForm = {}, columns: readonly string[] = []): string[] {
  const texts = new TextCells();
  readCells([['c', ...cells].map((cell) => `"${cell}"\n`).join('')], { form, columns, texts });
  return texts.take().map(noteText);
}

test.each<[cells: string[], note: string | null]>([
  [['1', 'NA', '3'], 'c: text because of 1 of 3 cells, such as NA in row 2 - null=NA would help'],
  [
    ['1', '', 'NA', '3', 'NULL', '-'],
    'c: text because of 3 of 5 cells, such as NA in row 3 - null=NA,NULL,- would help',
  ],
  [['1', '2', 'NA', 'x'], 'c: text because of 2 of 4 cells, such as NA in row 3 - null=NA would help with 1 of them'],
  [['1', '2', 'x'], 'c: text because of 1 of 3 cells, such as x in row 3'],
  [['true', 'FALSE', 'yes'], 'c: text because of 1 of 3 cells, such as yes in row 3'],
  [['2024-01-01', '2024-01-02T10:00', 'soon'], 'c: text because of 1 of 3 cells, such as soon in row 3'],
  [['1', '2', 'true'], 'c: text because of 1 of 3 cells, such as true in row 3'],
  [['1.234,50', '-0,5'], 'c: text because of 2 of 2 cells, such as 1.234,50 in row 1 - decimal=, would help'],
  [['1,234.50', '7.5'], 'c: text because of 1 of 2 cells, such as 1,234.50 in row 1 - decimal=. would help'],
  [['1 234', '5', 'NA'], 'c: text because of 2 of 3 cells, such as 1 234 in row 1 - decimal=. and null=NA would help'],
  [
    ['31.12.2024', '1.2.2024 10:00'],
    'c: text because of 2 of 2 cells, such as 31.12.2024 in row 1 - dateFormat=d.m.y would help',
  ],
  [
    ['12/31/2024', '1/2/2024', '3/4/2024'],
    'c: text because of 3 of 3 cells, such as 12/31/2024 in row 1 - dateFormat=m/d/y would help',
  ],
  [['1', 'é;x'], 'c: text because of 1 of 2 cells, such as \\u00e9\\u003bx in row 2'],
  [['1', 'x', 'y'], null],
  [['1', '2'], null],
  [['true', 'false'], null],
  [['2024-01-01', '2024-01-02 10:00'], null],
  [['x', 'y'], null],
  [[''], null],
  // Codes are texts as they should be.
  [['8001', '01234', '8002'], null],
  [['1', '2', '1234567890123456'], null],
  [['NA', '-'], null],
])('the cells %j have the note: %s', (cells, note) => expect(notesOn(cells)).toEqual(note === null ? [] : [note]));

test.each<[cells: string[], form: DelimitedForm, note: string | null]>([
  [['1.234,5', '1.5', '2'], { decimal: ',' }, 'c: text because of 1 of 3 cells, such as 1.5 in row 2'],
  [['31.12.2024', '31.12.24'], { dateFormat: 'd.m.y' }, 'c: text because of 1 of 2 cells, such as 31.12.24 in row 2'],
  [['1', 'NA'], { types: { c: 'string' } }, null],
])('%j of the form %j: %s', (cells, form, note) => expect(notesOn(cells, form)).toEqual(note === null ? [] : [note]));

test('a column of the table is not watched', () => expect(notesOn(['1', 'NA'], {}, ['c'])).toEqual([]));

test('the named options help', () => {
  expect(notesOn(['1.234,50', '1', '5,5'], { decimal: ',' })).toEqual([]);
  expect(notesOn(['31.12.2024', '2024-01-01'], { dateFormat: 'd.m.y' })).toEqual([]);
});

test('rows are counted over all blocks, and a long column of texts is not watched to its end', () => {
  const texts = new TextCells();
  const cells = Array.from({ length: 2_500 }, (_, at) => (at === 2_400 ? 'NA' : String(at)));
  const names = Array.from({ length: 2_500 }, (_, at) => (at < 300 ? 'Ada' : String(at)));
  readCells([`c,name\n${cells.map((cell, at) => `${cell},${names[at]!}\n`).join('')}`], {
    texts,
    limits: { blockRows: 1_000 },
  });
  expect(texts.take().map(noteText)).toEqual([
    'c: text because of 1 of 2500 cells, such as NA in row 2401 - null=NA would help',
  ]);
});

test('the cells of several bodies of one file are added up', () => {
  const texts = new TextCells();
  for (const [at, body] of ['c\n1\n2\n', 'c\nNA\n4\n', 'c\nx\ny\nz\n5\n'].entries()) {
    texts.placeOf = (row) => 10 * at + row;
    readCells([body], { texts });
  }
  expect(texts.take()).toEqual([
    {
      id: 'c',
      kind: 'number',
      filled: 8,
      misfits: 4,
      first: [
        { place: 10, text: 'NA' },
        { place: 20, text: 'x' },
        { place: 21, text: 'y' },
      ],
      help: { null: ['NA'] },
      helped: 1,
    },
  ]);
});
