/** The values that `--param` takes. */
import { expect, test } from '@jest/globals';
import { addParameter } from '../../../../src/cli/query/sql-parameters.ts';

test.each<readonly [string, unknown]>([
  ['6', 6],
  ['-4.20', -4.2],
  ['true', true],
  ['null', null],
  ['Japan', 'Japan'],
  ['"6"', '6'],
  ['00501', '00501'],
  ['2024-03-01', '2024-03-01'],
  ['', ''],
  ['[1]', '[1]'],
  ['{}', '{}'],
])('the parameter %s keeps its type', (text, value) => {
  expect(JSON.parse(JSON.stringify(addParameter(text)))).toEqual([value]);
  expect(JSON.parse(JSON.stringify(addParameter(text, ['before'])))).toEqual(['before', value]);
});

test.each(['4.20', '9007199254740993', '-1152921504606846976', '1E3', '-0'])('%s keeps its digits', (text) => {
  expect(JSON.stringify(addParameter(text))).toBe(`[${text}]`);
});
