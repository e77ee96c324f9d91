import { expect, test } from '@jest/globals';
import { Unreachable, TablogError } from '../../../../clients/typescript/src/index.ts';
import { OutcomeUnknown, RefusedRow } from '../../../../clients/file-import/import-errors.ts';
import { MalformedFile } from '../../../../clients/file-import/malformed-file.ts';
import {
  describeDelimiter,
  describeText,
  describeType,
  importFailure,
} from '../../../../src/cli/import/describe-import.ts';
import type { TextColumn } from '../../../../src/language/formats/text-cells.ts';
import { UserError } from '../../../../src/cli/user-error.ts';

const refused = new TablogError(400, 'column_has_invalid_value', 'rows[2].age: "x" does not fit');

test.each<readonly [Error, string]>([
  [new MalformedFile(7, 'cell 2: no'), 'a.csv, line 7: cell 2: no'],
  [new MalformedFile(null, 'this is a zip archive'), 'a.csv: this is a zip archive'],
  [
    new MalformedFile(2, 'the text is not UTF-8', 'utf-8'),
    'a.csv, line 2: the text is not UTF-8; if it has another encoding, give --encoding, such as windows-1252',
  ],
  [
    new MalformedFile(null, 'the text is not utf-16le', 'utf-16le'),
    'a.csv: the text is not utf-16le; if it has another encoding, give --encoding',
  ],
  [
    new RefusedRow({ line: 4, row: 3 }, refused),
    'a.csv, line 4 (row 3): column_has_invalid_value: rows[2].age: "x" does not fit',
  ],
  [
    new RefusedRow({ line: 1, row: null }, refused),
    'a.csv, line 1: column_has_invalid_value: rows[2].age: "x" does not fit',
  ],
  [
    new OutcomeUnknown(new UserError('Interrupted.')),
    'Interrupted. It is unknown whether the import took effect: look at the table.',
  ],
])('%s is told', (error, message) => {
  const told = importFailure(error, 'a.csv');
  expect([told instanceof UserError, (told as Error).message]).toEqual([true, message]);
});

test('an error that needs no rewording stays unchanged', () => {
  for (const error of [refused, new Unreachable('http://127.0.0.1', new Error('no')), new RangeError('a bug')])
    expect(importFailure(error, 'a.csv')).toBe(error);
});

test('a detected delimiter is described', () => {
  expect(describeDelimiter(';')).toBe(
    'The file seems to have semicolons between its cells. If that is wrong, give --delimiter.',
  );
});

test.each<[TextColumn, string, string]>([
  [
    {
      id: 'age',
      kind: 'number',
      filled: 3,
      misfits: 1,
      first: [{ place: 2, text: 'NA' }],
      help: { null: ['NA'] },
      helped: 1,
    },
    'age: text because of 1 of 3 cells: NA in line 2. --null=NA would help.',
    'age: string; 2 of 3 cells are numbers; NA in line 2. --null=NA would help.',
  ],
  [
    {
      id: 'd',
      kind: 'date',
      filled: 1_204,
      misfits: 1_204,
      first: [
        { place: 2, text: '1.2.2024' },
        { place: 3, text: '#N/A' },
        { place: 4, text: 'a b' },
      ],
      help: { dateFormat: 'd.m.y', null: ['#N/A', '?'] },
      helped: 1_000,
    },
    'd: text because of 1,204 of 1,204 cells: 1.2.2024 in line 2, #N/A in line 3, "a b" in line 4 and others. --date-format=d.m.y --null=\'#N/A,?\' would help with 1,000 of them.',
    'd: string; 0 of 1,204 cells are dates; 1.2.2024 in line 2, #N/A in line 3, "a b" in line 4 and others. --date-format=d.m.y --null=\'#N/A,?\' would help with 1,000 of them.',
  ],
])('%j is told', (column, text, type) => {
  expect([describeText(column), describeType({ id: column.id, type: 'string' }, column)]).toEqual([text, type]);
});

test('a column with the expected type is not described', () =>
  expect(describeType({ id: 'a', type: 'array<number>' }, undefined)).toBe('a: array<number>'));
