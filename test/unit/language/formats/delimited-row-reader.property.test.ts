/** Random bodies of CSV and TSV: against a parser that goes by the grammar letter by letter, and cut into chunks. */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import Papa from 'papaparse';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import type { Delimiter } from '../../../../src/language/formats/delimited-records.ts';
import { dialectOf, type Dialect } from '../../../../src/language/formats/dialect.ts';
import { ProfileBuilder, concatenateAll } from '../../../../src/language/values/build-profile.ts';
import { classifyCell, fitCell } from '../../../../src/language/values/cell-value.ts';
import { allTypes, columnTypes, typeBit } from '../../../../src/language/values/column-type.ts';
import { storedAs } from '../../../../src/language/values/profile.ts';
import type { Profile } from '../../../../src/language/values/profile.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import { plainCells } from '../../../../src/language/values/rule.ts';
import { cellText } from '../values/cell-texts.ts';
import { cuts, expectSameBlocksInChunks, expectSameInChunks } from './in-chunks.ts';
import { chunksOf, withMistakes } from './json-text.ts';
import { readCells } from './read-cells.ts';
import { bodiesOf, refusalOf } from './read-rows.ts';
import { wildInForms } from './wild-forms.ts';

const runs = { numRuns: 1_500 };
const delimiters: readonly Delimiter[] = [',', '\t'];

const header = fc.uniqueArray(
  fc.constantFrom('a', 'b', 'é', 'a,b', 'a\tb', '"', '10', '__proto__', '$stash', 'c\nd', ' '),
  { minLength: 1, maxLength: 5 },
);
const cell = fc.oneof({ weight: 3, arbitrary: cellText }, { weight: 1, arbitrary: fc.constant('') });

/** A header, and rows that are no longer. */
const tables = header.chain((ids) =>
  fc.record({
    ids: fc.constant(ids),
    rows: fc.array(fc.array(cell, { minLength: 1, maxLength: ids.length }), { maxLength: 12 }),
  }),
);

/** What the bodies say, where a string is the text of a cell and a number or boolean is its own. */
function textsOf(bodies: readonly string[]): Record<string, string>[] {
  return bodies.map((body) =>
    Object.assign(
      Object.create(null),
      Object.fromEntries(
        parseRow(body).map(({ id, token }) => [id, token.startsWith('"') ? (JSON.parse(token) as string) : token]),
      ),
    ),
  );
}

function filled(ids: readonly string[], row: readonly string[]): Record<string, string> {
  return Object.assign(
    Object.create(null),
    Object.fromEntries(ids.map((id, at) => [id, row[at] ?? '']).filter(([, text]) => text !== '')),
  );
}

const bodiesRead = (read: { readonly blocks: Parameters<typeof bodiesOf>[0]['blocks'] }): string[] =>
  read.blocks.some(({ profile }) => profile.rows > 0) ? bodiesOf(read) : [];

describe('what is accepted', () => {
  test.each(delimiters)('texts come back unchanged, separated by %j', (delimiter) => {
    fc.assert(
      fc.property(
        tables,
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        fc.boolean(),
        ({ ids, rows }, newline, quotes, known) => {
          // A line without anything in it is a blank line.
          const written = rows.filter((row) => quotes || row.length > 1 || row[0] !== '');
          const text = Papa.unparse([ids, ...written], { delimiter, newline, quotes });
          const read = readCells([text], { delimiter, columns: known ? ['b', 'a'] : [] });
          expect(textsOf(bodiesRead(read))).toEqual(written.map((row) => filled(ids, row)));
          for (const { profile, body } of read.blocks) expectInOrder(profile, Buffer.from(body).toString());
        },
      ),
      runs,
    );
  });

  test('the profile equals that of a check of each cell', () => {
    fc.assert(
      fc.property(tables, ({ ids, rows }) => {
        const { blocks } = readCells([Papa.unparse([ids, ...rows], { quotes: true })]);
        const profile = concatenateAll(blocks.map((block) => block.profile));
        const bodies = bodiesRead({ blocks }).map((body) => Buffer.byteLength(body));
        const builder = new ProfileBuilder();
        const columns = ids.map((id, at) => builder.column(id, 0, at));
        rows.forEach((row, index) =>
          row.forEach((text, at) => {
            if (text === '') return;
            const { fits, natural, stored } = classifyCell(text, allTypes, plainCells);
            builder.add(columns[at]!, index, at, fits, natural, stored, () => JSON.stringify(text));
          }),
        );
        for (const column of columns) {
          const alike = column.stored === storedAs.number || column.stored === storedAs.boolean || column.stored === 0;
          column.stored = storedAs.cell | (alike ? column.stored : storedAs.string);
        }
        expect(profile).toEqual(
          builder.build(
            rows.length,
            bodies.reduce((sum, bytes) => sum + bytes, 0),
            Math.max(0, ...bodies),
          ),
        );
      }),
      runs,
    );
  });

  test('the profile names the first cell that each type cannot present', () => {
    fc.assert(
      fc.property(fc.array(cellText, { minLength: 1, maxLength: 8 }), (cells) => {
        const { blocks } = readCells([Papa.unparse([['c'], ...cells.map((text) => [text])], { quotes: true })]);
        const [{ misfits }] = concatenateAll(blocks.map((block) => block.profile)).columns as [
          Profile['columns'][number],
        ];
        for (const type of columnTypes) {
          const first = cells.findIndex(
            (text) =>
              fitCell(text, type, false, plainCells) === undefined && !(type === 'json' && text.trim() === 'null'),
          );
          const misfit = misfits.find(({ types }) => (types & typeBit(type)) !== 0);
          expect([type, misfit?.row ?? -1]).toEqual([type, first]);
        }
      }),
      runs,
    );
  });
});

function expectInOrder(profile: Profile, bodies: string): void {
  const order = profile.columns.map(({ id }) => id);
  for (const line of bodies.split('\n')) {
    const keys = line === '' ? [] : parseRow(line).map(({ id }) => id);
    expect(order.filter((id) => keys.includes(id))).toEqual(keys);
  }
}

/**
 * The records of a text by the grammar of a dialect, letter by letter, without blank lines and comments; null: not by
 * it.
 */
function recordsOf(text: string, { delimiter, quote, escape, lenient, comment }: Dialect): string[][] | null {
  const letters = [...text];
  const records: string[][] = [];
  const isLineEnd = (at: number): boolean => letters[at] === '\n' || letters[at] === '\r';
  const isEnd = (at: number): boolean => at >= letters.length || isLineEnd(at) || letters[at] === delimiter;
  const behindBlanks = (from: number): number => {
    let at = from;
    while ((letters[at] === ' ' || letters[at] === '\t') && letters[at] !== delimiter) at += 1;
    return at;
  };
  for (let at = 0; at < letters.length;) {
    const record: string[] = [];
    const start = at;
    const isComment = letters[at] === comment;
    if (isComment) while (at < letters.length && !isLineEnd(at)) at += 1;
    while (!isComment) {
      let value = '';
      if (quote !== null && letters[behindBlanks(at)] === quote) {
        for (at = behindBlanks(at) + 1; ; at += 1) {
          if (at >= letters.length || letters[at] === '\0') return null;
          const isPair = letters[at + 1] === quote || (letters[at + 1] === escape && letters[at] === escape);
          if (letters[at] === quote ? letters[at + 1] === quote : letters[at] === escape && isPair)
            value += letters[(at += 1)];
          else if (letters[at] === quote) break;
          else value += letters[at];
        }
        at = behindBlanks(at + 1);
        if (!isEnd(at)) return null;
      } else {
        for (; !isEnd(at); at += 1) {
          if ((letters[at] === quote && !lenient) || letters[at] === '\0') return null;
          value += letters[at];
        }
      }
      record.push(value);
      if (letters[at] !== delimiter) break;
      at += 1;
    }
    if (at > start && !isComment) records.push(record);
    at += letters[at] === '\r' && letters[at + 1] === '\n' ? 2 : 1;
  }
  return records;
}

/** Texts full of what matters, most of them wrong. */
const wildTexts = fc
  .array(fc.constantFrom('a', 'é', ' ', '"', '"', '""', ',', ',', '\t', '\n', '\n', '\r\n', '\r', '\0', '\\', '1'), {
    maxLength: 24,
  })
  .map((parts) => `a,b\tc\n${parts.join('')}`);

function expectByGrammar(
  text: string,
  form: DelimitedForm,
  delimiter: Delimiter,
  counts: { accepted: number; refused: number },
): void {
  const all = recordsOf(text, dialectOf(form, delimiter));
  const ids = form.header === 'absent' ? all?.[0]!.map((_, at) => `column_${at + 1}`) : all?.[0];
  const records = form.header === 'absent' ? all : all?.slice(1);
  const accepts = records?.every((record) => record.length <= ids!.length) ?? false;
  let bodies: string[] = [];
  const refusal = refusalOf(() => {
    const read = readCells([text], { delimiter, form });
    bodies = bodiesRead(read);
    return read;
  });
  expect({ text, refusal, accepts: refusal === null }).toEqual({ text, refusal, accepts });
  if (accepts) expect(textsOf(bodies)).toEqual(records!.map((record) => filled(ids!, record)));
  counts[accepts ? 'accepted' : 'refused'] += 1;
}

test.each(delimiters)('a text is accepted exactly if the grammar accepts it, separated by %j', (delimiter) => {
  const counts = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(wildTexts, (text) => expectByGrammar(text, {}, delimiter, counts)),
    { numRuns: 20_000, examples: [['a,b\tc\n'], ['a,b\tc\n"']] },
  );
  expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(0);
});

test('a text is accepted exactly if the grammar accepts it, in any dialect', () => {
  const counts = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(wildInForms, ({ form, text }) => expectByGrammar(text, form, ',', counts)),
    { numRuns: 20_000 },
  );
  expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(0);
});

describe('chunks', () => {
  const limits = { blockRows: 4, blockBytes: 90, rowBytes: 60, cellBytes: 40, columnIdBytes: 6, columns: 6 };
  const bodies = fc
    .oneof(
      tables.chain(({ ids, rows }) =>
        fc.constantFrom('\n', '\r\n').map((newline) => Papa.unparse([ids, ...rows], { newline })),
      ),
      wildTexts,
    )
    .chain((text) => withMistakes(text));

  test.each([{}, limits, { ...limits, rowBytes: 12 }])('make no difference with the limits %j', (someLimits) => {
    fc.assert(
      fc.property(
        bodies,
        cuts,
        fc.boolean(),
        fc.constantFrom(...delimiters),
        (bytes, places, withColumns, delimiter) => {
          const options = { delimiter, limits: someLimits, columns: withColumns ? ['c', 'a'] : [], retainIds: true };
          expectSameInChunks(bytes, places, (chunks) => readCells(chunks, options));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test.each([{}, { ...limits, rowBytes: 12 }])('make no difference in any dialect with the limits %j', (someLimits) => {
    const inForms = fc.tuple(wildInForms, fc.constantFrom('', 'sep=;\n', 'x\ry\r\n'), fc.nat({ max: 2 }));
    fc.assert(
      fc.property(inForms, cuts, ([{ form, text }, before, skipLines], places) => {
        const options = { form: { ...form, skipLines }, limits: someLimits };
        expectSameInChunks(Buffer.from(`${before}${text}`), places, (chunks) => readCells(chunks, options));
      }),
      { numRuns: 5_000 },
    );
  });

  test('make no difference in any dialect if long cells are dropped', () => {
    fc.assert(
      fc.property(wildInForms, cuts, ({ form, text }, places) => {
        // A header is never in one slice with a row that is too long.
        const [header, rest] = [
          text.slice(0, text.indexOf('\n') + 1),
          text.slice(text.indexOf('\n') + 1).replaceAll('\0', 'z'),
        ];
        const resultOf = (chunks: readonly Uint8Array[]): unknown => {
          let result: unknown;
          const refusal = refusalOf(() => {
            const read = readCells([header, ...chunks], {
              form,
              limits: { ...limits, rowBytes: 16, cellBytes: 5 },
              dropsCells: true,
            });
            result = read;
            return read;
          });
          // What a message shows of a cell depends on how much of it was kept.
          return refusal === null ? result : 'refused';
        };
        expect(resultOf(chunksOf(Buffer.from(rest), places))).toEqual(resultOf([Buffer.from(rest)]));
      }),
      {
        numRuns: 5_000,
        // A quote of two bytes, doubled at the end of a long cell that stays open.
        examples: [
          [
            { form: { delimiter: '😀', quote: 'é', lenient: true, header: 'present' }, text: 'a😀b😀c\néaaz😀😀"éé' },
            Array.from({ length: 40 }, (_, at) => at),
          ],
        ],
      },
    );
  });

  test('a body larger than a slice gives the same blocks in chunks of any size', () => {
    const rows = Array.from({ length: 9_000 }, (_, index) => [
      String(index),
      `é"${'x'.repeat(index % 97)}\n`,
      index % 500 === 0 ? 'y\n'.repeat(45_000) : '',
    ]);
    const bytes = Buffer.from(Papa.unparse([['n', 's', 'long'], ...rows]));
    expectSameBlocksInChunks(bytes, readCells);
    expect(textsOf(bodiesOf(readCells([bytes])))).toEqual(rows.map((row) => filled(['n', 's', 'long'], row)));
  });
});
