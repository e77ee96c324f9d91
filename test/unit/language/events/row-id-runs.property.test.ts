/**
 * Runs of row IDs say what the IDs say: where each row is, whether one repeats, and however the rows are cut into
 * parts.
 */
import { expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { rowIdTexts } from '../../../../src/language/events/row-bodies.ts';
import { findRowIdRuns, RowIdRuns, type RowIdRun } from '../../../../src/language/events/row-id-runs.ts';
import { formatRowId } from '../../../../src/language/events/row-id.ts';
import { atOnce } from '../../../../src/language/time-slices.ts';
import { RowIds } from '../../../../src/language/formats/row-ids.ts';

/** Few versions, ordinals and indexes, so that rows follow each other and repeat. Null: a row without an ID. */
const id = fc.option(
  fc.record({ version: fc.bigInt(1n, 2n), ordinal: fc.nat(1), index: fc.nat(12) }).map(formatRowId),
  { freq: 4 },
);
const shuffled = fc.array(id, { maxLength: 30 });
const inOrder = fc
  .tuple(fc.nat(20), fc.nat(20))
  .map(([first, count]) =>
    Array.from({ length: count }, (_, at) => formatRowId({ version: 1n, ordinal: 0, index: first + at })),
  );
const rows = fc.array(fc.oneof(shuffled, inOrder), { maxLength: 4 }).map((parts) => parts.flat());

function idsOf(texts: readonly (string | null)[]): Uint8Array | null {
  const ids = new RowIds();
  for (const text of texts) ids.add(text);
  return ids.take();
}

function runsOf(parts: readonly (readonly (string | null)[])[], issuersMax?: number): RowIdRuns {
  return atOnce(
    RowIdRuns.read(
      parts.map((part) => {
        const ids = idsOf(part);
        return { rows: part.length, runs: ids === null ? null : findRowIdRuns(ids) };
      }),
      issuersMax,
    ),
  );
}

function listOf(runs: RowIdRuns): RowIdRun[] {
  return Array.from({ length: runs.length }, (_, place) => runs.at(place));
}

function expand(run: RowIdRun): [number, string][] {
  return Array.from({ length: run.count }, (_, at) => [run.row + at, formatRowId({ ...run, index: run.first + at })]);
}

test('runs represent the IDs by row, in any number of parts', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 4 }), (parts) => {
      const texts = parts.flat();
      const named = texts.flatMap((text, row) => (text === null ? [] : [[row, text]]));
      expect(listOf(runsOf(parts)).flatMap(expand)).toEqual(named);
    }),
  );
});

test('the runs of a limited number of issuers end before the first run of another issuer', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 4 }), fc.nat(4), (parts, issuersMax) => {
      const all = runsOf(parts);
      const some = runsOf(parts, issuersMax);
      const end = listOf(all).findIndex((_, place) => all.issuerAt(place) >= issuersMax);
      expect(some.isWhole).toBe(end === -1);
      expect(listOf(some)).toEqual(listOf(all).slice(0, end === -1 ? undefined : end));
      expect(some.issuers).toEqual(all.issuers.slice(0, issuersMax));
    }),
  );
});

test('the bytes equal the texts', () => {
  fc.assert(
    fc.property(rows, (texts) => {
      const ids = idsOf(texts);
      expect(ids === null ? texts.map(() => null) : rowIdTexts(ids)).toEqual(texts);
    }),
  );
});

test('the first row whose ID an earlier row has is found, and null if there is none', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 6 }), (parts) => {
      const texts = parts.flat();
      const repeated = texts.findIndex((text, row) => text !== null && texts.indexOf(text) < row);
      expect(atOnce(runsOf(parts).findRepeated())).toBe(repeated === -1 ? null : repeated);
    }),
    { numRuns: 3000 },
  );
});

test('repeated row IDs are found even if several runs overlap', () => {
  const run = (first: number, count: number): string[] =>
    Array.from({ length: count }, (_, at) => formatRowId({ version: 1n, ordinal: 0, index: first + at }));
  const given: [string[][], number | null][] = [
    [[run(0, 10), run(2, 3), run(8, 5)], 10],
    [[run(5, 5), run(0, 3), run(3, 20)], 10],
    [[run(5, 5), run(20, 2), run(0, 30), run(20, 2)], 12],
    [[run(5, 5), run(0, 5), run(10, 5)], null],
  ];
  for (const [parts, repeated] of given) {
    for (const cut of [parts, [parts.flat()]]) expect(atOnce(runsOf(cut).findRepeated())).toBe(repeated);
  }
});

test('rows that a client reads and writes back are one run', () => {
  const texts = Array.from({ length: 5000 }, (_, index) => formatRowId({ version: 7n, ordinal: 3, index }));
  expect(listOf(runsOf([texts.slice(0, 2000), texts.slice(2000)]))).toEqual([
    { version: 7n, ordinal: 3, first: 0, count: 2000, row: 0 },
    { version: 7n, ordinal: 3, first: 2000, count: 3000, row: 2000 },
  ]);
});
