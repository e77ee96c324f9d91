/**
 * Constants of the parsed tree become text of the engine, so a constant that is not what its type says must not pass.
 */
import { expect, test } from '@jest/globals';
import { constantText } from '../../../../../src/api/query/sql/literals.ts';

const constant = (
  id: string,
  value: unknown,
  info: object | null = null,
): { type: object; is_null: boolean; value: unknown } => ({
  type: { id, type_info: info },
  is_null: false,
  value,
});

test.each([
  ['INTEGER', '-12', '-12'],
  ['HUGEINT', { upper: '1', lower: '5' }, '18446744073709551621'],
  ['HUGEINT', { upper: '-1', lower: '0' }, '-18446744073709551616'],
  ['DOUBLE', '1.5e-3', `CAST('1.5e-3' AS DOUBLE)`],
])('a constant of the type %s with the value %j is written as %s', (id, value, text) => {
  expect(constantText(constant(id, value))).toBe(text);
});

test.each([
  ['0', '125', '125'],
  ['2', '125', '1.25'],
  ['2', '-5', '-0.05'],
  ['38', '1', `0.${'0'.repeat(37)}1`],
])('DECIMAL with the scale %s: %s is %s', (scale, value, text) => {
  expect(constantText(constant('DECIMAL', value, { scale }))).toBe(text);
});

test.each([
  ['INTEGER', '1; SELECT 2'],
  ['INTEGER', ''],
  ['INTEGER', '1'.repeat(41)],
  ['BIGINT', '0x1'],
  ['HUGEINT', { upper: '1 ', lower: '0' }],
  ['HUGEINT', { upper: '1', lower: '-' }],
  ['DOUBLE', "1') --"],
  ['DOUBLE', 'inf'],
  ['TIMESTAMP', '2024'],
])('%s %j is refused', (id, value) => {
  expect(() => constantText(constant(id, value))).toThrow('is not supported');
});
