import { expect, test } from '@jest/globals';
import { Unreachable, TablogError } from '../../../clients/typescript/src/index.ts';
import { OutcomeUnknown, RefusedRow } from '../../../clients/file-import/import-errors.ts';
import { MalformedFile } from '../../../clients/file-import/malformed-file.ts';
import { describeDelimiter, importFailure } from '../../../src/cli/import/describe-import.ts';
import { UserError } from '../../../src/cli/user-error.ts';

const refused = new TablogError(400, 'column_has_invalid_value', 'rows[2].age: "x" does not fit');

test.each<readonly [Error, string]>([
  [new MalformedFile(7, 'cell 2: no'), 'a.csv, line 7: cell 2: no'],
  [new MalformedFile(null, 'this is a zip archive'), 'a.csv: this is a zip archive'],
  [new MalformedFile(2, 'the text is not UTF-8', 'utf-8'), 'a.csv, line 2: the text is not UTF-8; if it is of another encoding, give --encoding, such as windows-1252'],
  [new MalformedFile(null, 'the text is not utf-16le', 'utf-16le'), 'a.csv: the text is not utf-16le; if it is of another encoding, give --encoding'],
  [new RefusedRow({ line: 4, row: 3 }, refused), 'a.csv, line 4 (row 3): column_has_invalid_value: rows[2].age: "x" does not fit'],
  [new RefusedRow({ line: 1, row: null }, refused), 'a.csv, line 1: column_has_invalid_value: rows[2].age: "x" does not fit'],
  [new OutcomeUnknown(new UserError('Interrupted.')), 'Interrupted. Whether the import has taken effect is not known: look at the table.'],
])('%s is told', (error, message) => {
  const told = importFailure(error, 'a.csv');
  expect([told instanceof UserError, (told as Error).message]).toEqual([true, message]);
});

test('what needs no words of the import stays as it is', () => {
  for (const error of [refused, new Unreachable('http://127.0.0.1', new Error('no')), new RangeError('a bug')]) expect(importFailure(error, 'a.csv')).toBe(error);
});

test('a recognised delimiter', () => {
  expect(describeDelimiter(';')).toBe('By its first lines the file has semicolons between its cells. If that is wrong, give --delimiter.');
});
