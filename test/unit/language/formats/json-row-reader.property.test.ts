/** Random bodies: the scanner against `JSON.parse`, and against itself with the body cut into chunks. */
import { isUtf8 } from 'node:buffer';

import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';

import type { RowBlock } from '../../../../src/language/formats/block-writer.ts';
import { ProfileBuilder, concatenateAll } from '../../../../src/language/values/build-profile.ts';
import { allTypes } from '../../../../src/language/values/column-type.ts';
import { classify } from '../../../../src/language/values/json-value.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import { cuts, expectSameBlocksInChunks, expectSameInChunks } from './in-chunks.ts';
import { compactText, rowText, arbitraryRows, value, withMistakes, withStyle } from './json-text.ts';
import type { Entries } from './json-text.ts';
import { bodiesOf, readRows, refusalOf } from './read-rows.ts';

const runs = { numRuns: 1_000 };

/** What the body of a row shows: no nulls, no `$rowID`. */
function shown(entries: Entries): Record<string, unknown> {
  return Object.assign(Object.create(null), Object.fromEntries(kept(entries))) as Record<string, unknown>;
}

function kept(entries: Entries): Entries {
  return entries.filter(([key, cell]) => key !== '$rowID' && cell !== null);
}

function parsed(body: string): Record<string, unknown> {
  return Object.assign(Object.create(null), JSON.parse(body)) as Record<string, unknown>;
}

const profileOfNoRows = new ProfileBuilder().build(0, 0, 0);

describe('what is accepted', () => {
  test('rows come back unchanged, whatever their style', () => {
    const cases = arbitraryRows.chain((entries) => withStyle(compactText(entries)).map((text) => ({ entries, text })));
    fc.assert(
      fc.property(cases, ({ entries, text }) => {
        const { blocks } = readRows([text]);
        expect(bodiesOf({ blocks }).map(parsed)).toEqual(entries.map(shown));
        expect(bodiesOf({ blocks }).every((body) => !/[\n\r\t]/.test(body))).toBe(true);
        for (const block of blocks) expectInOrder(block);
      }),
      runs,
    );
  });

  test('the profile equals that of a check of each value', () => {
    fc.assert(
      fc.property(arbitraryRows, (entries) => {
        const { blocks } = readRows([compactText(entries)]);
        const profile = concatenateAll([profileOfNoRows, ...blocks.map((block) => block.profile)]);
        const bodies = bodiesOf({ blocks }).map((body) => Buffer.byteLength(body));
        const builder = new ProfileBuilder();
        entries.forEach((row, index) =>
          row.forEach(([key, cell], position) => {
            if (key === '$rowID') return;
            const column = builder.column(key, index, position);
            if (cell === null) return;
            const token = JSON.stringify(cell);
            const { fits, natural, stored } = classify(token, allTypes);
            builder.add(column, index, position, fits, natural, stored, () => token);
          }),
        );
        expect(profile).toEqual(
          builder.build(
            entries.length,
            bodies.reduce((sum, bytes) => sum + bytes, 0),
            Math.max(0, ...bodies),
          ),
        );
      }),
      runs,
    );
  });

  test('clean rows are copied byte for byte', () => {
    fc.assert(
      fc.property(arbitraryRows, (entries) => {
        const columns = [...new Set(entries.flatMap((row) => row.map(([key]) => key)))];
        const clean = entries.map((row) => kept(row).toSorted(([a], [b]) => columns.indexOf(a) - columns.indexOf(b)));
        expect(bodiesOf(readRows([compactText(clean)], { columns }))).toEqual(clean.map((row) => rowText(row)));
      }),
      runs,
    );
  });

  /** The rules beyond JSON, by what their messages say. */
  const beyondJson =
    /stands twice|U\+0000|lone surrogate|too large|nested deeper|column ID|must be an object|body must be/;

  test('a text is accepted exactly if JSON.parse and the further rules accept it', () => {
    const counts = { accepted: 0, refused: 0 };
    const bodies = arbitraryRows
      .chain((entries) => withStyle(compactText(entries)))
      .chain((text) => withMistakes(text));
    fc.assert(
      fc.property(bodies, (bytes) => {
        const refusal = refusalOf(() => readRows([bytes], { form: 'rows' }));
        const accepts = acceptedByJson(bytes);
        if (refusal === null) {
          counts.accepted += 1;
          expect(accepts).toBe(true);
          const expected = (JSON.parse(withoutMark(bytes)) as object[]).map((row) => shown(Object.entries(row)));
          expect(bodiesOf(readRows([bytes])).map(parsed)).toEqual(expected);
        } else if (!beyondJson.test(refusal.message)) {
          counts.refused += 1;
          expect({ accepts, refusal }).toEqual({ accepts: false, refusal });
        }
      }),
      { numRuns: 3_000, examples: [[Buffer.from('[]')], [Buffer.from('[')]] },
    );
    expect(counts.accepted).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
  });

  test('members beside the rows are parsed', () => {
    const members = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 5 }), value, { maxKeys: 4 });
    const cases = members.chain((object) => withStyle(JSON.stringify(object)).map((text) => ({ object, text })));
    fc.assert(
      fc.property(cases, ({ object, text }) => {
        expect({ ...readRows([text]).envelope }).toEqual(JSON.parse(JSON.stringify({ ...object })));
      }),
      runs,
    );
  });
});

/** `JSON.parse` of bytes; a byte order mark is skipped. */
function acceptedByJson(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false;
  try {
    JSON.parse(withoutMark(bytes));
    return true;
  } catch {
    return false;
  }
}

function withoutMark(bytes: Buffer): string {
  return bytes.toString().replace(/^\ufeff/, '');
}

function expectInOrder({ profile, body }: RowBlock): void {
  const order = profile.columns.map(({ id }) => id);
  for (const line of Buffer.from(body).toString().split('\n')) {
    const keys = parseRow(line).map(({ id }) => id);
    expect(order.filter((id) => keys.includes(id))).toEqual(keys);
  }
}

describe('chunks', () => {
  const limits = {
    blockRows: 4,
    blockBytes: 90,
    rowBytes: 60,
    cellBytes: 40,
    columnIdBytes: 6,
    columns: 6,
    envelopeBytes: 50,
  };
  const members = fc.constantFrom('', '"name": "é",', '"schema":{"columns":[{"id":"a"}]} ,', '"rows":1,');
  const bodies = fc
    .tuple(arbitraryRows, members)
    .chain(([entries, first]) => {
      const text = compactText(entries);
      return withStyle(first === '' ? text : `{${first}"rows":${text},"more":[1,{"a":"😀"}]}`);
    })
    .chain((text) => withMistakes(text));

  test.each([{}, limits])('make no difference with the limits %j', (someLimits) => {
    fc.assert(
      fc.property(bodies, cuts, fc.boolean(), (bytes, places, withColumns) => {
        const options = { limits: someLimits, columns: withColumns ? ['c', 'a'] : [] };
        expectSameInChunks(bytes, places, (chunks) => readRows(chunks, options));
      }),
      { numRuns: 1_500 },
    );
  });

  test('make no difference to NDJSON', () => {
    const lines = arbitraryRows
      .chain((entries) =>
        fc
          .array(fc.constantFrom('\n', '\r\n', '\n\n', ' \n ', '\r', '', ' '), { minLength: 1, maxLength: 4 })
          .map((breaks) => entries.map((row, at) => rowText(row) + breaks[at % breaks.length]!).join('')),
      )
      .chain((text) => withMistakes(text));
    fc.assert(
      fc.property(lines, cuts, (bytes, places) => {
        expectSameInChunks(bytes, places, (chunks) => readRows(chunks, { form: 'lines', limits }));
      }),
      { numRuns: 1_500 },
    );
  });

  test('a body larger than a slice gives the same blocks in chunks of any size', () => {
    const text = compactText(
      Array.from({ length: 9_000 }, (_, index): Entries => {
        const row: Entries = [
          ['n', index],
          ['s', `é${'x'.repeat(index % 97)}`],
        ];
        return index % 500 === 0 ? [...row, ['long', 'y'.repeat(90_000)]] : row;
      }),
    );
    const bytes = Buffer.from(text);
    expectSameBlocksInChunks(bytes, readRows);
    expect(bodiesOf(readRows([bytes]))).toEqual(JSON.parse(text).map((row: unknown) => JSON.stringify(row)));
  });
});
