import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import {
  ProfileBuilder,
  concatenateAll,
  emptyProfile,
  excerptOf,
} from '../../../../src/language/values/build-profile.ts';
import {
  columnTypes,
  isArrayType,
  scalarKinds,
  typeBit,
  arrayOf,
  allTypes,
} from '../../../../src/language/values/column-type.ts';
import { classify } from '../../../../src/language/values/json-value.ts';
import { boundOfKnown } from '../../../../src/language/values/lattice.ts';
import type { ColumnProfile, Profile } from '../../../../src/language/values/profile.ts';
import { decodeProfile, encodeProfile } from '../../../../src/language/values/profile-codec.ts';
import type { Cell } from '../../../../src/language/values/row-text.ts';
import { anyRows, profileOf, profileOfRows } from './rows.ts';

/** The profile of one column by its definition: each value looked at for each type. */
function expectedColumn(
  id: string,
  rows: readonly (readonly Cell[])[],
): Omit<ColumnProfile, 'misfits'> & {
  firstMisfits: Record<string, string>;
  firstUnwrapped: Record<string, string>;
} {
  const places = rows.flatMap((cells, row) =>
    cells.flatMap((cell, position) => (cell.id === id ? [{ row, position, token: cell.token }] : [])),
  );
  const values = places
    .filter(({ token }) => token !== 'null')
    .map((place) => ({ ...place, ...classify(place.token, allTypes) }));
  const firstMisfits: Record<string, string> = {};
  const firstUnwrapped: Record<string, string> = {};
  for (const type of columnTypes) {
    const misfit = values.find(({ fits }) => (fits & typeBit(type)) === 0);
    if (misfit !== undefined) firstMisfits[type] = `${misfit.row} ${misfit.position}`;
  }
  for (const kind of scalarKinds) {
    const unwrapped = values.find(({ fits }) => (fits & (typeBit(kind) | typeBit(arrayOf(kind)))) === 0);
    if (unwrapped !== undefined) firstUnwrapped[kind] = `${unwrapped.row} ${unwrapped.position}`;
  }
  return {
    id,
    first: { row: places[0]!.row, position: places[0]!.position },
    natural: values.map(({ natural }) => natural).reduce(boundOfKnown, null),
    stored: values.reduce((set, { stored }) => set | stored, 0),
    firstMisfits,
    firstUnwrapped,
  };
}

function spread({ misfits, ...column }: ColumnProfile): ReturnType<typeof expectedColumn> {
  const firstMisfits: Record<string, string> = {};
  const firstUnwrapped: Record<string, string> = {};
  for (const { row, position, types, wrapped } of misfits) {
    for (const type of columnTypes) if ((types & typeBit(type)) !== 0) firstMisfits[type] = `${row} ${position}`;
    for (const type of columnTypes) {
      if ((wrapped & typeBit(type)) === 0) continue;
      expect(isArrayType(type)).toBe(false);
      firstUnwrapped[type] = `${row} ${position}`;
    }
  }
  return { ...column, firstMisfits, firstUnwrapped };
}

describe('a profile', () => {
  test('describes each column as its values do', () => {
    fc.assert(
      fc.property(anyRows, (rows) => {
        const profile = profileOf(rows);
        expect(profile.columns.map(spread)).toEqual(profile.columns.map(({ id }) => expectedColumn(id, rows)));
        expect(profile.columns.map(({ id }) => id)).toEqual([...new Set(rows.flat().map(({ id }) => id))]);
      }),
      { numRuns: 1000 },
    );
  });

  test('the joined profiles of any parts equal the profile of the whole', () => {
    fc.assert(
      fc.property(anyRows, fc.array(fc.nat(8)), fc.boolean(), (rows, cuts, counts) => {
        const bounds = [0, ...cuts.filter((cut) => cut <= rows.length).sort((a, b) => a - b), rows.length];
        const parts = bounds.slice(1).map((end, at) => profileOf(rows.slice(bounds[at], end), counts));
        const whole = profileOf(rows, counts);
        expect(concatenateAll(parts)).toEqual(whole);
        expect(parts.reduce((left, right) => concatenateAll([left, right]))).toEqual(whole);
        expect(parts.reduceRight((right, left) => concatenateAll([left, right]))).toEqual(whole);
        expect(concatenateAll([emptyProfile, whole])).toEqual(whole);
        expect(concatenateAll([whole, emptyProfile])).toEqual(whole);
      }),
      { numRuns: 1000 },
    );
  });

  test('with counts is otherwise the same', () => {
    fc.assert(
      fc.property(anyRows, (rows) => {
        const { dropped, columns, ...counted } = profileOf(rows, true);
        const { dropped: droppedOfOther, isUncounted, ...other } = profileOf(rows);
        expect([dropped, droppedOfOther]).toEqual([0, rows.length === 0 ? 0 : undefined]);
        expect(isUncounted).toBe(rows.length > 0 && columns.length === 0 ? true : undefined);
        expect({ ...counted, columns: columns.map(({ counts: _counts, ...column }) => column) }).toEqual(other);
        for (const { id, counts } of columns) {
          const cells = rows.flat().filter((cell) => cell.id === id && cell.token !== 'null');
          const fits = cells.map(({ token }) => classify(token, allTypes).fits);
          expect(counts).toEqual([...new Set(fits)].map((one) => [one, fits.filter((other) => other === one).length]));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('has counts only if all parts with rows have counts', () => {
    const [counted, uncounted] = [profileOf([[{ id: 'a', token: '1' }]], true), profileOf([[{ id: 'b', token: '1' }]])];
    for (const [part, dropped] of [
      [profileOf([]), 0],
      [profileOf([[]]), undefined],
      [profileOf([[]], true), 0],
      [{ ...emptyProfile, rows: 1 }, 0],
    ] as const) {
      expect(
        [
          [counted, part],
          [part, counted],
        ].map((parts) => concatenateAll(parts).dropped),
      ).toEqual([dropped, dropped]);
    }
    expect(concatenateAll([counted, emptyProfile, counted])).toMatchObject({
      dropped: 0,
      columns: [{ counts: [[expect.any(Number), 2]] }],
    });
    const mixed = concatenateAll([counted, uncounted]);
    expect([mixed.dropped, mixed.columns.map(({ counts }) => counts)]).toEqual([undefined, [undefined, undefined]]);
    expect(concatenateAll([]).dropped).toBeUndefined();
  });

  test('comes back equal from its JSON', () => {
    fc.assert(
      fc.property(anyRows, fc.boolean(), (rows, counts) => {
        const profile = profileOf(rows, counts);
        expect(decodeProfile(JSON.parse(JSON.stringify(encodeProfile(profile))))).toEqual(profile);
      }),
      { numRuns: 500 },
    );
  });

  test('without a rule has the first rule', () => {
    expect(decodeProfile([1, 2, 2, []])).toEqual({ rows: 1, bytes: 2, rowBytesMax: 2, columns: [], rule: 1 });
  });

  test('a profile of several parts has the earliest rule', () => {
    expect(concatenateAll([emptyProfile, { ...emptyProfile, rule: 1 }, emptyProfile]).rule).toBe(1);
  });

  test('takes few bytes', () => {
    const profile = profileOfRows(
      '{"name":"Ada","born":"1815-12-10","age":36}',
      '{"name":"Alan","born":"1912-06-23","age":41}',
    );
    expect(JSON.stringify(encodeProfile(profile)).length).toBeLessThan(100 * profile.columns.length);
  });

  test('contains a column with only nulls, and one that only a header names', () => {
    const builder = new ProfileBuilder();
    builder.column('a', 0, 0);
    const column = { id: 'a', first: { row: 0, position: 0 }, natural: null, stored: 0, misfits: [] };
    expect(builder.build(0, 0, 0)).toEqual({
      rows: 0,
      bytes: 0,
      rowBytesMax: 0,
      columns: [{ ...column, counts: [] }],
      rule: 3,
      dropped: 0,
    } satisfies Profile);
    expect(profileOfRows('{"a":null}').columns).toEqual([column]);
  });
});

test.each([
  ['short', 'short'],
  ['x'.repeat(60), 'x'.repeat(60)],
  ['x'.repeat(61), `${'x'.repeat(59)}…`],
  [`${'x'.repeat(58)}😀x`, `${'x'.repeat(58)}…`],
])('the excerpt of %s is %s', (token, excerpt) => expect(excerptOf(token)).toBe(excerpt));
