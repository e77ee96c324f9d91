/** The order of serials (docs/spec/decisions.md 3 and 6), against numbers without bound. */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { compareSerials, numericOrderOf } from '../../../../projections/stashes/stash-order.ts';

const integer = fc.oneof(
  fc.nat(120).map(String),
  fc.tuple(fc.nat(4), fc.nat(30)).map(([zeros, number]) => '0'.repeat(zeros) + String(number)),
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 256 }),
);
const serial = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,5}$/);

const sign = (number: number): number => Math.sign(number);
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byNumber = (a: string, b: string): number =>
  BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : byText(a, b);

describe('serials', () => {
  test('that are all integers are in numeric order, and equal ones by code point', () => {
    fc.assert(
      fc.property(integer, integer, (a, b) => {
        expect(sign(compareSerials(a, b, true))).toBe(byNumber(a, b));
        expect(sign(byText(numericOrderOf(a)!, numericOrderOf(b)!))).toBe(
          BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0,
        );
      }),
      { numRuns: 2000 },
    );
  });

  test('that are not all integers are in the order of code points', () => {
    fc.assert(
      fc.property(fc.oneof(serial, integer), serial, (a, b) => {
        expect(sign(compareSerials(a, b, false))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
      { numRuns: 1000 },
    );
  });

  test('are integers if they have only digits', () => {
    fc.assert(
      fc.property(fc.oneof(serial, integer), (each) => {
        expect(numericOrderOf(each) !== null).toBe(/^[0-9]+$/.test(each));
      }),
      { numRuns: 1000 },
    );
  });

  test.each<readonly [string, string | null]>([
    ['0', '000'],
    ['000', '000'],
    ['7', '0017'],
    ['007', '0017'],
    ['10', '00210'],
    ['9'.repeat(256), `256${'9'.repeat(256)}`],
    ['1e3', null],
    ['0x1', null],
    ['1-', null],
    ['1_000', null],
    ['a', null],
  ])('the serial %s has its order', (each, order) => expect(numericOrderOf(each)).toBe(order));
});
