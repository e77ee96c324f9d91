import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { columnTypes } from '../../../../src/language/values/column-type.ts';
import type { ColumnType } from '../../../../src/language/values/column-type.ts';
import { boundOfKnown, isAtMost, leastUpperBound } from '../../../../src/language/values/lattice.ts';

const anyType = fc.constantFrom(...columnTypes);
const pairs = columnTypes.flatMap((a) => columnTypes.map((b) => [a, b] as const));

describe('the order of the types', () => {
  test('is reflexive, antisymmetric and transitive', () => {
    for (const type of columnTypes) expect(isAtMost(type, type)).toBe(true);
    for (const [a, b] of pairs) {
      if (a !== b) expect([a, b, isAtMost(a, b) && isAtMost(b, a)]).toEqual([a, b, false]);
      for (const c of columnTypes) {
        if (isAtMost(a, b) && isAtMost(b, c)) expect([a, b, c, isAtMost(a, c)]).toEqual([a, b, c, true]);
      }
    }
  });

  test('is the closure of the steps in docs/spec/decisions.md', () => {
    const scalars = columnTypes.filter((type) => !type.startsWith('array<'));
    const steps: [string, string][] = [
      ['imageURI', 'uri'],
      ['audioURI', 'uri'],
      ['date', 'dateTime'],
    ];
    for (const scalar of scalars) if (scalar !== 'json' && scalar !== 'string') steps.push([scalar, 'string']);
    for (const scalar of scalars) if (scalar !== 'json') steps.push([scalar, 'json'], [scalar, `array<${scalar}>`]);
    for (const [a, b] of steps) if (!b.startsWith('array<')) steps.push([`array<${a}>`, `array<${b}>`]);
    steps.push(['array<json>', 'json']);

    const reached = new Set(columnTypes.map((type) => `${type} ${type}`));
    for (let before = -1; before !== reached.size;) {
      before = reached.size;
      for (const pair of reached) {
        const [from, to] = pair.split(' ');
        for (const [a, b] of steps) if (a === to) reached.add(`${from} ${b}`);
      }
    }
    for (const [a, b] of pairs) expect([a, b, isAtMost(a, b)]).toEqual([a, b, reached.has(`${a} ${b}`)]);
  });
});

describe('the least upper bound', () => {
  test.each<[ColumnType, ColumnType, ColumnType]>([
    ['number', 'number', 'number'],
    ['number', 'boolean', 'string'],
    ['date', 'dateTime', 'dateTime'],
    ['date', 'time', 'string'],
    ['imageURI', 'audioURI', 'uri'],
    ['markdown', 'string', 'string'],
    ['number', 'json', 'json'],
    ['number', 'array<number>', 'array<number>'],
    ['date', 'array<dateTime>', 'array<dateTime>'],
    ['imageURI', 'array<audioURI>', 'array<uri>'],
    ['string', 'array<number>', 'array<string>'],
    ['array<number>', 'array<boolean>', 'array<string>'],
    ['number', 'array<json>', 'array<json>'],
    ['array<json>', 'json', 'json'],
  ])('the least upper bound of %s and %s is %s', (a, b, bound) => {
    expect(leastUpperBound(a, b)).toBe(bound);
  });

  test('is an upper bound below every other upper bound, and the only one', () => {
    for (const [a, b] of pairs) {
      const bounds = columnTypes.filter((type) => isAtMost(a, type) && isAtMost(b, type));
      const least = bounds.filter((type) => bounds.every((other) => isAtMost(type, other)));
      expect([a, b, least]).toEqual([a, b, [leastUpperBound(a, b)]]);
    }
  });

  test('is commutative, associative and idempotent', () => {
    fc.assert(
      fc.property(anyType, anyType, anyType, (a, b, c) => {
        expect(leastUpperBound(a, a)).toBe(a);
        expect(leastUpperBound(a, b)).toBe(leastUpperBound(b, a));
        expect(leastUpperBound(leastUpperBound(a, b), c)).toBe(leastUpperBound(a, leastUpperBound(b, c)));
      }),
      { numRuns: 2000 },
    );
  });

  test('is null for two unknown types', () => {
    expect(boundOfKnown(null, null)).toBeNull();
    expect(boundOfKnown(null, 'date')).toBe('date');
    expect(boundOfKnown('dateTime', null)).toBe('dateTime');
    expect(boundOfKnown('dateTime', 'date')).toBe('dateTime');
  });
});
