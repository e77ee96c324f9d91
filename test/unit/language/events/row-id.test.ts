import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';

import {
  formatRowId,
  parseRowId,
  rowIdPrefix,
  rowIdSuffix,
  type RowAddress,
} from '../../../../src/language/events/row-id.ts';

const intMax = 2 ** 31 - 1;
const longMax = 2n ** 63n - 1n;
const address = fc.record({
  version: fc.bigInt({ min: 0n, max: longMax }),
  ordinal: fc.nat(intMax),
  index: fc.nat(intMax),
});

describe('a row ID', () => {
  test.each<[string, RowAddress]>([
    ['AAAAAAAAAAAAAAAAAAAAAA', { version: 0n, ordinal: 0, index: 0 }],
    ['AAAAAAAAAAEAAAAAAAAAAA', { version: 1n, ordinal: 0, index: 0 }],
    ['AAAAAAAAAAEAAAACAAAAAw', { version: 1n, ordinal: 2, index: 3 }],
    ['f_________9_____f____w', { version: longMax, ordinal: intMax, index: intMax }],
  ])('the row ID %s names %o', (text, row) => {
    expect(formatRowId(row)).toBe(text);
    expect(parseRowId(text)).toEqual(row);
  });

  test('is the base64url of 16 bytes, from which its parts are decoded', () => {
    fc.assert(
      fc.property(address, (row) => {
        const text = formatRowId(row);
        expect(text).toMatch(/^[A-Za-z0-9_-]{22}$/);
        expect(Buffer.from(text, 'base64url').toString('base64url')).toBe(text);
        expect(parseRowId(text)).toEqual(row);
        expect(rowIdPrefix(row.version, row.ordinal) + rowIdSuffix(row.index)).toBe(text);
      }),
    );
  });

  test('has one spelling', () => {
    const almost = fc.string({ minLength: 20, maxLength: 24, unit: fc.constantFrom(...'AB_-9+/= é') });
    fc.assert(
      fc.property(almost, (text) => {
        const row = parseRowId(text);
        expect(row === null ? text : formatRowId(row)).toBe(text);
      }),
    );
  });

  test.each([
    ['nothing', ''],
    ['too short', 'AAAAAAAAAAEAAAAAAAAAA'],
    ['too long', 'AAAAAAAAAAEAAAAAAAAAAAA'],
    ['padded', 'AAAAAAAAAAEAAAAAAAAA=='],
    ['in the other alphabet', 'AAAAAAAAAAEAAAAAAAA+/A'],
    ['with bits that mean nothing', 'AAAAAAAAAAEAAAAAAAAAAB'],
    ['with other characters', 'AAAAAAAAAAEAAAAAAAAA A'],
    ['with a letter that is no letter of base64', 'AAAAAAAAAAEAAAAAAAAAé'],
    ['of a negative version', '__________8AAAAAAAAAAA'],
    ['of a negative ordinal', 'AAAAAAAAAAGAAAAAAAAAAA'],
    ['of a negative index', 'AAAAAAAAAAEAAAAAgAAAAA'],
    ['a UUID', '01890000-0000-7000-8000-000000000000'],
  ])('is never %s: %j', (_name, text) => expect(parseRowId(text)).toBeNull());
});
