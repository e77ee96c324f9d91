import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';

import { isAccessToken, newAccessToken } from '../../../../src/storage/security/access-token.ts';

const token = `tablog_${'A'.repeat(43)}d38add1e`;

describe('an access token', () => {
  test('is recognized when it is new, and no two are equal', () => {
    const tokens = Array.from({ length: 100 }, newAccessToken);
    expect(tokens.every(isAccessToken)).toBe(true);
    expect(new Set(tokens).size).toBe(100);
  });

  test('always has the same form', () => expect(isAccessToken(token)).toBe(true));

  test('with one mistyped character is invalid', () => {
    const typed = 'aA0_-é ';
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...typed), (at, character) => {
        fc.pre(token[at] !== character);
        expect(isAccessToken(token.slice(0, at) + character + token.slice(at + 1))).toBe(false);
      }),
    );
  });

  test.each([
    ['nothing', ''],
    ['another prefix', token.replace('tablog', 'Tablog')],
    ['too short', token.slice(0, -1)],
    ['too long', `${token}0`],
    ['a line feed behind it', `${token}\n`],
    ['a blank before it', ` ${token}`],
    ['its checksum in capitals', token.slice(0, -8) + token.slice(-8).toUpperCase()],
  ])('is never: %s', (_name, text) => expect(isAccessToken(text)).toBe(false));
});
