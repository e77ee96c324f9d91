/** The values that `--param` takes. */
import { expect, test } from '@jest/globals';
import { addParameter } from '../../../src/cli/query/sql-parameters.ts';

test.each<readonly [string, unknown]>([
  ['6', 6], ['-4.20', -4.2], ['true', true], ['null', null], ['Japan', 'Japan'], ['"6"', '6'], ['00501', '00501'], ['2024-03-01', '2024-03-01'], ['', ''], ['[1]', '[1]'], ['{}', '{}'],
])('%s', (text, value) => {
  expect(addParameter(text)).toEqual([value]);
  expect(addParameter(text, ['before'])).toEqual(['before', value]);
});
