/** What the console says about files. */
import { expect, test } from '@jest/globals';
import { OutcomeUnknown, RefusedRow } from '../../../../clients/file-import/import-errors.ts';
import { MalformedFile } from '../../../../clients/file-import/malformed-file.ts';
import { TablogError, Unreachable } from '../../../../clients/typescript/src/index.ts';
import { describeFailure } from '../../../../console/src/import/describe-failure.ts';
import { guessFormat, tableNameOf } from '../../../../console/src/import/reading-choices.ts';

test.each([
  ['cars.csv', 'cars', 'csv'],
  ['cars.2024.ndjson.gz', 'cars.2024', 'ndjson'],
  ['Cars.TAB', 'Cars', 'tsv'],
  ['notes.txt', 'notes.txt', 'csv'],
  ['cars', 'cars', 'csv'],
  ['.csv', '.csv', 'csv'],
  ['rows.json', 'rows', 'json'],
  ['rows.gz', 'rows', 'csv'],
])('the table for %s is named %s, and the file is read as %s', (file, name, format) => {
  expect([tableNameOf(file), guessFormat(file)]).toEqual([name, format]);
});

const away = new Unreachable('http://127.0.0.1', new Error('no'));

test.each<readonly [Error, number | null, string]>([
  [new MalformedFile(3, 'cell 2: no'), 3, 'cell 2: no'],
  [new MalformedFile(3, 'the text is not UTF-8', 'utf-8'), 3, 'the text is not UTF-8. Choose another encoding.'],
  [
    new RefusedRow(
      { line: 7, row: 6 },
      new TablogError(400, 'column_has_invalid_value', 'chunk 0, rows[5].age: "x" does not fit'),
    ),
    7,
    'age: "x" does not fit',
  ],
  [
    new RefusedRow(
      { line: 1, row: null },
      new TablogError(400, 'column_id_not_unique', 'header[1]: the column ID "a" occurs twice'),
    ),
    1,
    'the column ID "a" occurs twice',
  ],
  [
    new OutcomeUnknown(away),
    null,
    'It is unknown whether the rows were imported. Check the table. The service cannot be reached.',
  ],
  [new TablogError(404, 'table_not_found', 'there is no such table'), null, 'there is no such table'],
  [away, null, 'The service cannot be reached.'],
])('the failure is told to a person: %s', (error, line, text) => {
  expect(describeFailure(error, false)).toEqual({ line, text, isCanceled: false });
});

test('a person who cancels too late gets a message', () => {
  const reason = new Error('The import was canceled.');
  expect(describeFailure(reason, true)).toMatchObject({ isCanceled: true });
  expect(describeFailure(new OutcomeUnknown(reason), true)).toEqual({
    line: null,
    text: 'It is unknown whether the rows were imported. Check the table.',
    isCanceled: false,
  });
});
