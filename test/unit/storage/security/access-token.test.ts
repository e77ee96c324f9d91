import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';

import { isAccessToken, newAccessToken } from '../../../../src/storage/security/access-token.ts';

const token = `tablog_${'A'.repeat(43)}d38add1e`;

describe('an access token', () => {
  test('is recognised when it is new, and no two are the same', () => {
    const tokens = Array.from({ length: 100 }, newAccessToken);
    expect(tokens.every(isAccessToken)).toBe(true);
    expect(new Set(tokens).size).toBe(100);
  });

  test('is written the same way for ever', () => expect(isAccessToken(token)).toBe(true));

  test('with any one character mistyped is none', () => {
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
  ])('is not: %s', (_name, text) => expect(isAccessToken(text)).toBe(false));
});
