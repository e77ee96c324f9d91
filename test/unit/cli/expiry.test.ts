import { describe, expect, test } from '@jest/globals';
import { parseExpiry } from '../../../src/cli/expiry.ts';

const now = Date.parse('2027-01-01T00:00:00Z');

describe('when a token expires', () => {
  test.each([
    ['1m', '2027-01-01T00:01:00.000Z'],
    ['90m', '2027-01-01T01:30:00.000Z'],
    ['12h', '2027-01-01T12:00:00.000Z'],
    ['30d', '2027-01-31T00:00:00.000Z'],
    ['2027-03-01', '2027-03-01T00:00:00.000Z'],
    ['2027-03-01T12:30:00Z', '2027-03-01T12:30:00.000Z'],
    ['2027-03-01T12:30:00+02:00', '2027-03-01T10:30:00.000Z'],
    ['1999-12-31', '1999-12-31T00:00:00.000Z'],
  ])('an expiry of %s is a moment', (text, expected) =>
    expect(new Date(parseExpiry(text)(now)).toISOString()).toBe(expected),
  );

  test.each([
    '',
    'soon',
    '0d',
    '-1d',
    '1.5h',
    '1 d',
    '30',
    'd',
    '1w',
    '1D',
    '9999999d',
    '2027-02-30',
    '2027-03-01T12:30:00',
    '01.03.2027',
    '1d2h',
  ])('is never %j', (text) => expect(() => parseExpiry(text)).toThrow('It must be a duration like'));
});
