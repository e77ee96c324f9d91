/** Random files: the chunks hold the rows of the file, however its bytes come, read by the service's own readers. */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import Papa from 'papaparse';
import type { Chunk, ChunkLimits } from '../../../../clients/file-import/chunk.ts';
import { cutterFor } from '../../../../clients/file-import/cut-file.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import {
  chunksOf,
  compactText,
  rowText,
  arbitraryRows,
  withMistakes,
  withStyle,
} from '../../language/formats/json-text.ts';
import { readCells } from '../../language/formats/read-cells.ts';
import { bodiesOf, readRows, refusalOf, type RowsRead } from '../../language/formats/read-rows.ts';
import { wildInForms } from '../../language/formats/wild-forms.ts';
import { cellText } from '../../language/values/cell-texts.ts';
import { bodyOf, cutPieces, linesOf, mistakeOf } from './cut-pieces.ts';

const runs = { numRuns: 500 };

const limits: fc.Arbitrary<ChunkLimits> = fc.record({
  rows: fc.integer({ min: 1, max: 5 }),
  bytes: fc.integer({ min: 1, max: 200 }),
});

/** Where the bytes of a file are cut. */
const cuts = fc.array(fc.nat(), { maxLength: 6 });

const columns = ['id', 'b', 'é', 'a,b'];
/** CSV whose rows begin with their numbers, with blank lines between some of them. */
const csv = fc
  .record({
    cells: fc.array(fc.array(cellText, { minLength: 3, maxLength: 3 }), { maxLength: 12 }),
    newline: fc.constantFrom('\n', '\r\n'),
    quotes: fc.boolean(),
    blanks: fc.array(fc.nat({ max: 2 }), { maxLength: 12 }),
    mark: fc.constantFrom('', '\ufeff'),
  })
  .map(({ cells, newline, quotes, blanks, mark }) => {
    const records = [columns, ...cells.map((row, at) => [`#${at}#`, ...row])].map(
      (record, at) => `${Papa.unparse([record], { newline, quotes })}${newline.repeat(1 + (blanks[at] ?? 0))}`,
    );
    return `${mark}${records.join('')}`;
  });

interface Read {
  readonly blocks: Parameters<typeof bodiesOf>[0]['blocks'];
}

/**
 * Rows as keys and texts of values: which cells are strings, the order of the keys and the blanks between tokens are
 * each body's own matter.
 */
function textsOf(reads: readonly Read[]): unknown[] {
  const bodies = reads.flatMap((read) => (read.blocks.some(({ profile }) => profile.rows > 0) ? bodiesOf(read) : []));
  return bodies.map((body) =>
    parseRow(body)
      .map(({ id, token }) => [id, /^["{[]/.test(token) ? (JSON.parse(token) as unknown) : token] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function expectWithin({ rows: rowsMax, bytes }: ChunkLimits, chunks: readonly Chunk[]): void {
  for (const { rows, body } of chunks) {
    expect(rows).toBeLessThanOrEqual(rowsMax);
    if (rows > 1) expect(body.length).toBeLessThanOrEqual(bytes);
  }
}

describe('CSV', () => {
  test('the chunks hold the rows of the file, and know their lines', () => {
    fc.assert(
      fc.property(csv, cuts, limits, (text, cuts, limits) => {
        const chunks = cutPieces('csv', chunksOf(Buffer.from(text), cuts), limits);
        expect(textsOf(chunks.map(({ body }) => readCells([body])))).toEqual(textsOf([readCells([text])]));
        expectWithin(limits, chunks);
        const lines = text.split('\n');
        linesOf(chunks).forEach((line, row) => expect(lines[line - 1]).toMatch(new RegExp(`^"?#${row}#`)));
      }),
      runs,
    );
  });

  test('a file with a mistake is refused for the same row as by the service', () => {
    const mistaken = csv.chain((text) => withMistakes(text));
    fc.assert(
      fc.property(mistaken, limits, (text, limits) => {
        const whole = refusalOf(() => readCells([text]));
        let chunks: Chunk[] = [];
        const mistake = mistakeOf(() => {
          chunks = cutPieces('csv', [text], limits);
        });
        if (mistake !== null) {
          expect(whole).not.toBeNull();
          return;
        }
        let rowsBefore = 0;
        let refused: string | null = null;
        for (const chunk of chunks) {
          const refusal = refusalOf(() => readCells([chunk.body]));
          if (refusal !== null) {
            refused = refusal.message.replace(
              /^rows\[(\d+)\]/,
              (_, row: string) => `rows[${rowsBefore + Number(row)}]`,
            );
            break;
          }
          rowsBefore += chunk.rows;
        }
        expect(refused).toBe(whole?.message ?? null);
      }),
      runs,
    );
  });
});

test('in any dialect the chunks hold the rows of the file, or are refused for the same row as the whole file', () => {
  const counts = { accepted: 0, refused: 0 };
  const ends = fc.constantFrom('', '\u001a');
  fc.assert(
    fc.property(wildInForms, ends, cuts, limits, (wild, end, cuts, limits) => {
      const text = `${wild.text}${end}`;
      const form = { ...wild.form, delimiter: wild.form.delimiter ?? ',' };
      let whole: RowsRead | null = null;
      const refusal = refusalOf(() => {
        whole = readCells([text], { form });
        return whole;
      });
      const cutter = cutterFor('csv', { form, limits });
      const chunks: Chunk[] = [];
      const mistake = mistakeOf(() => {
        for (const piece of chunksOf(Buffer.from(text), cuts)) chunks.push(...cutter.push(piece));
        chunks.push(...cutter.end());
      });
      let rowsBefore = 0;
      let refused: string | null = mistake?.[1] ?? null;
      const reads: Read[] = [];
      for (const chunk of mistake === null ? chunks : []) {
        refused ??=
          refusalOf(() => {
            const read = readCells([chunk.body], { form: cutter.form });
            reads.push(read);
            return read;
          })?.message.replace(/^rows\[(\d+)\]/, (_, row: string) => `rows[${rowsBefore + Number(row)}]`) ?? null;
        rowsBefore += chunk.rows;
      }
      if (mistake !== null) expect(refusal).not.toBeNull();
      else expect(refused).toBe(refusal?.message ?? null);
      if (whole !== null && refusal === null) expect(textsOf(reads)).toEqual(textsOf([whole]));
      counts[refused === null ? 'accepted' : 'refused'] += 1;
    }),
    { numRuns: 3_000 },
  );
  expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(0);
});

describe('JSON', () => {
  const styled = arbitraryRows.chain((entries) => withStyle(compactText(entries)));

  test('the chunks of an array hold its rows', () => {
    fc.assert(
      fc.property(styled, cuts, limits, (text, cuts, limits) => {
        const chunks = cutPieces('json', chunksOf(Buffer.from(text), cuts), limits);
        expect(textsOf(chunks.map(({ body }) => readRows([body])))).toEqual(textsOf([readRows([text])]));
        expectWithin(limits, chunks);
      }),
      runs,
    );
  });

  test('the chunks of lines hold the lines unchanged, with their numbers', () => {
    const file = fc.tuple(arbitraryRows, fc.array(fc.nat({ max: 2 }), { maxLength: 12 })).map(([entries, blanks]) => {
      return {
        texts: entries.map(rowText),
        text: entries.map((row, at) => `${rowText(row)}${'\n'.repeat(1 + (blanks[at] ?? 0))}`).join(''),
      };
    });
    fc.assert(
      fc.property(file, cuts, limits, ({ texts, text }, cuts, limits) => {
        const chunks = cutPieces('ndjson', chunksOf(Buffer.from(text), cuts), limits);
        const bodies = chunks.map(bodyOf);
        expect(
          bodies
            .map((body) => body.slice(1, -1))
            .filter((body) => body !== '')
            .join(','),
        ).toBe(texts.join(','));
        const lines = text.split('\n');
        linesOf(chunks).forEach((line, row) => expect(lines[line - 1]).toBe(texts[row]));
        expectWithin(limits, chunks);
      }),
      runs,
    );
  });
});
