/** Columns that are text because of some cells, and what would help (clients/file-import/text-columns.ts). */
import { expect, test } from '@jest/globals';
import { preview } from '../../../clients/file-import/preview.ts';
import { sourceOfBlob } from '../../../clients/file-import/source-of-blob.ts';
import type { TextColumn } from '../../../clients/file-import/text-columns.ts';
import type { DelimitedForm } from '../../../src/formats/delimited-form.ts';

async function textColumnsOf(file: string, form: DelimitedForm = {}): Promise<readonly TextColumn[]> {
  const options = { format: 'csv', encoding: 'utf-8', onSchemaError: 'abort', signal: new AbortController().signal } as const;
  return (await preview(sourceOfBlob(new File([file], 'a.csv')), { ...options, form })).textColumns;
}

/** A column of these cells, each in a line of its own below the header. */
const column = (cells: readonly string[]): string => `c;d\n${cells.map((cell) => `${cell};x\n`).join('')}`;

test.each<[what: string, cells: string[], found: Partial<TextColumn> | null]>([
  ['a text among numbers', ['36', 'NA', '4'], { almost: 'number', cells: 3, misfits: 1, first: [{ line: 3, text: 'NA' }], remedies: [{ form: { null: ['NA'] }, example: null }] }],
  ['empty cells do not count', ['1', '', '', 'NA'], { cells: 2, misfits: 1, first: [{ line: 5, text: 'NA' }] }],
  ['the first three of several', ['1', '-', '2', 'NA', '3', 'NULL', '4', '-', '5'], {
    cells: 9, misfits: 4, first: [{ line: 3, text: '-' }, { line: 5, text: 'NA' }, { line: 7, text: 'NULL' }], remedies: [{ form: { null: ['-', 'NA', 'NULL'] }, example: null }],
  }],
  ['words of a file', ['1', 'closed', '2', 'closed'], { misfits: 2, remedies: [{ form: { null: ['closed'] }, example: null }] }],
  ['nothing helps', ['1', 'about 8', '2'], { misfits: 1, remedies: [] }],
  ['codes are not emptied', ['4001', '04002', '4003'], { almost: 'number', misfits: 1, remedies: [] }],
  ['decimal commas', ['1.234,50', '7,25', '3'], {
    almost: 'number', cells: 3, misfits: 2, first: [{ line: 2, text: '1.234,50' }, { line: 3, text: '7,25' }], remedies: [{ form: { decimal: ',' }, example: { text: '1.234,50', becomes: '1234.50' } }],
  }],
  ['decimal commas and a missing value', ['1,5', 'NA', '2,5'], { misfits: 3, remedies: [{ form: { decimal: ',', null: ['NA'] }, example: { text: '1,5', becomes: '1.5' } }] }],
  ['commas that may be of either kind', ['1,234', '5,678'], {
    remedies: [{ form: { decimal: ',' }, example: { text: '1,234', becomes: '1.234' } }, { form: { decimal: '.' }, example: { text: '1,234', becomes: '1234' } }],
  }],
  ['days first', ['31.12.2024', '01.02.2024'], { almost: 'date', misfits: 2, remedies: [{ form: { dateFormat: 'd.m.y' }, example: { text: '31.12.2024', becomes: '2024-12-31' } }] }],
  ['months first', ['12/31/2024', '01/02/2024'], { almost: 'date', remedies: [{ form: { dateFormat: 'm/d/y' }, example: { text: '12/31/2024', becomes: '2024-12-31' } }] }],
  ['days that may be months', ['03/04/2024'], {
    remedies: [{ form: { dateFormat: 'd/m/y' }, example: { text: '03/04/2024', becomes: '2024-04-03' } }, { form: { dateFormat: 'm/d/y' }, example: { text: '03/04/2024', becomes: '2024-03-04' } }],
  }],
  ['a day that is none', ['2024-03-01', 'soon', '2024-03-02'], { almost: 'date', misfits: 1, first: [{ line: 3, text: 'soon' }], remedies: [{ form: { null: ['soon'] }, example: null }] }],
  ['days with and without a time', ['2024-03-01', '2024-03-02T10:00', 'NA', '2024-03-03'], { almost: 'dateTime', misfits: 1, first: [{ line: 4, text: 'NA' }] }],
  ['truth', ['true', 'false', '?'], { almost: 'boolean', remedies: [{ form: { null: ['?'] }, example: null }] }],
  ['texts', ['a', 'b', '1'], null],
  ['numbers', ['1', '2'], null],
  ['nothing', ['', ''], null],
])('%s: %j', async (_, cells, found) => {
  const columns = await textColumnsOf(column(cells));
  expect(columns).toEqual(found === null ? [] : [expect.objectContaining({ id: 'c', ...found })]);
  // What would help does.
  for (const { form } of columns.flatMap(({ remedies }) => remedies)) expect(await textColumnsOf(column(cells), form)).toEqual([]);
});

test('what was said counts, and columns whose type was said are none', async () => {
  const file = column(['1,5', '2,5', 'NA']);
  expect(await textColumnsOf(file, { decimal: ',' })).toMatchObject([{ misfits: 1, first: [{ line: 4, text: 'NA' }], remedies: [{ form: { null: ['NA'] }, example: null }] }]);
  expect(await textColumnsOf(file, { types: { c: 'string' } })).toEqual([]);
});
