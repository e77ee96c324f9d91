/**
 * Where cells may be dropped, rows with texts of any length are read alike however the body is cut, and refused alike
 * if they are too long.
 */
import { expect, test } from '@jest/globals';
import { fc, uncut } from '../../../support/property.ts';
import { isFull } from '../../../scale.ts';
import { concatenateAll } from '../../../../src/language/values/build-profile.ts';
import { readCells } from './read-cells.ts';
import { bodiesOf, readRows, refusalOf, type RowsRead } from './read-rows.ts';

/** Larger than the slices that bodies are read in. */
const limits = { cellBytes: 100_000, rowBytes: 250_000 };

/** A text of such pieces, with at least so many characters. */
const textOf = (pieces: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(1, 80_000, 90_000, 98_000, 110_000, 600_000),
      fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 }),
    )
    .map(([length, parts]) => parts.join('').repeat(Math.ceil(length / parts.join('').length)));

const text = textOf(['x', 'é', '😀', '\\n', '\\u00e9', '\\\\', '\\ud83d\\ude00', 'y'.repeat(50)]).map(
  (escaped) => `"${escaped}"`,
);
const value = fc.oneof(
  text,
  text.map((one) => `[${one},1]`),
  text.map((one) => `{"k":${one}}`),
  fc.constantFrom('1', 'null', '"\\u0000"', '"\\ud800"'),
);
const row = fc.tuple(value, value, value);
const json = fc
  .array(row, { minLength: 1, maxLength: 3 })
  .map((rows) => `[${rows.map(([a, b, c]) => `{"a":${a},"b":${b},"c":${c}}`).join(',')}]`);

const quoted = textOf(['x', 'é', '😀', '""', ',', '\n', '\\', 'y'.repeat(50)]).map((doubled) => `"${doubled}"`);
const cell = fc.oneof(quoted, textOf(['x', 'é', '😀', '\\', 'y'.repeat(50)]), fc.constantFrom('1', '', '\0', '"\0"'));
const csv = fc
  .array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 3 })
  .map((lines) => `a,b,c\n${lines.map((cells) => cells.join()).join('\n')}`);

function resultOf(read: () => RowsRead): unknown {
  let result: unknown;
  return (
    refusalOf(() => {
      const rows = read();
      result = [bodiesOf(rows), concatenateAll(rows.blocks.map(({ profile }) => profile))];
      return rows;
    }) ?? result
  );
}

test.each<[string, fc.Arbitrary<string>, (chunks: readonly Uint8Array[]) => RowsRead]>([
  ['JSON', json, (chunks) => readRows(chunks, { dropsCells: true, limits })],
  ['CSV', csv, (chunks) => readCells(chunks, { dropsCells: true, limits })],
])('long cells of %s are dropped wherever chunks end', (_name, bodies, read) => {
  fc.assert(
    fc.property(
      bodies,
      fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 5 }),
      (body, sizes) => {
        const bytes = Buffer.from(body);
        const chunks: Uint8Array[] = [];
        for (let at = 0, n = 0; at < bytes.length; at += sizes[n % sizes.length]!, n += 1)
          chunks.push(bytes.subarray(at, at + sizes[n % sizes.length]!));
        // Sizes of a few bytes would take long.
        fc.pre(chunks.length < 1000);
        const whole = resultOf(() => read([bytes]));
        expect(resultOf(() => read(chunks))).toEqual(whole);
        // A run reads up to some MiB: a time limit would leave none on a busy machine.
      },
    ),
    { ...uncut, numRuns: isFull ? 200 : 15 },
  );
});
