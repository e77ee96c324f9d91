/** Which texts of the console are numbers (console/src/ui/number-of-text.ts). */
import { expect, test } from '@jest/globals';
import { numberOfText } from '../../../../console/src/ui/number-of-text.ts';

test.each<[text: string, value: number]>([
  ['0', 0],
  ['-0.0', -0],
  ['4.20', 4.2],
  ['.5', 0.5],
  ['5.', 5],
  ['+3', 3],
  ['007', 7],
  [' 12 ', 12],
  ['1 000.5', 1000.5],
  ['1_000_000', 1_000_000],
  ['1\u00a0000', 1000],
  ['-1e3', -1000],
  ['1E+3', 1000],
  ['9007199254740991', 9007199254740991],
  ['9007199254740992', 9007199254740992],
  ['9007199254740994', 9007199254740994],
  ['-9007199254740994', -9007199254740994],
  ['100000000000000000000000', 1e23],
  ['1.7976931348623157e308', Number.MAX_VALUE],
  ['5e-324', 5e-324],
  ['0.1', 0.1],
  ['0.30000000000000004', 0.30000000000000004],
  ['0e999', 0],
])('the text %j is the number %j', (text, value) => {
  expect(numberOfText(text)).toBe(value);
});

test.each<[text: string, message: string]>([
  ['9007199254740993', '9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.'],
  [
    '1 610 521 604 143 693 812',
    '1 610 521 604 143 693 812 cannot be stored exactly as a number: it would become 1610521604143693800.',
  ],
  [
    '0.1234567890123456789',
    '0.1234567890123456789 cannot be stored exactly as a number: it would become 0.12345678901234568.',
  ],
  ['1e-400', '1e-400 cannot be stored exactly as a number: it would become 0.'],
  ['1e400', '1e400 is too large for a number.'],
  ['-1e400', '-1e400 is too large for a number.'],
  ['0x10', '0x10 is not a number.'],
  ['1,5', '1,5 is not a number. Use a decimal point, and no commas.'],
  ['1,234.50', '1,234.50 is not a number. Use a decimal point, and no commas.'],
  ['1.234,50', '1.234,50 is not a number. Use a decimal point, and no commas.'],
  ['1 2', '1 2 is not a number.'],
  ['1_00', '1_00 is not a number.'],
  ['Infinity', 'Infinity is not a number.'],
  ['NaN', 'NaN is not a number.'],
  ['', ' is not a number.'],
  ['.', '. is not a number.'],
  ['e5', 'e5 is not a number.'],
  ['1e', '1e is not a number.'],
  ['--1', '--1 is not a number.'],
  ['12n', '12n is not a number.'],
])('%j is refused: %s', (text, message) => {
  expect(() => numberOfText(text)).toThrow(new Error(message));
});
