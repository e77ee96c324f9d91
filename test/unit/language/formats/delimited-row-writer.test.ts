/**
 * Rows as CSV and TSV: how a value in JSON becomes a cell. `test/unit/cli/row-writer.test.ts` has lines of whole pages.
 */
import { describe, expect, test } from '@jest/globals';
import Papa from 'papaparse';
import type { Delimiter } from '../../../../src/language/formats/delimited-records.ts';
import {
  cellText,
  DelimitedRowWriter,
  type WrittenColumn,
} from '../../../../src/language/formats/delimited-row-writer.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import { fc } from '../../../support/property.ts';

const columnsOf = (...ids: readonly string[]): WrittenColumn[] => ids.map((id) => ({ id, isJson: id === 'json' }));

/** What is written of these rows. */
function written(columns: readonly WrittenColumn[], rows: readonly string[], delimiter: Delimiter = ','): string {
  const writer = new DelimitedRowWriter(delimiter, columns);
  writer.add(Buffer.from(rows.join('\n')));
  return writer.take().toString();
}

describe('a cell', () => {
  test.each<readonly [string, string, string]>([
    ['a', '"x"', 'x'],
    ['a', '""', ''],
    ['a', String.raw`"x\"y\u00e9"`, '"x""yé"'],
    ['a', String.raw`"C:\\"`, 'C:\\'],
    ['a', '"x,y"', '"x,y"'],
    ['a', '"four,and more"', '"four,and more"'],
    ['a', '" x"', '" x"'],
    ['a', '"x "', '"x "'],
    ['a', '"\uFEFFx"', '"\uFEFFx"'],
    ['a', '"\uFF01x"', '\uFF01x'],
    ['a', '4.20', '4.20'],
    ['a', 'true', 'true'],
    ['a', 'null', ''],
    ['a', '["x",1]', '"[""x"",1]"'],
    ['a', '[ ]', '[ ]'],
    ['json', '"x"', '"""x"""'],
    ['json', String.raw`"\n"`, String.raw`"""\n"""`],
    ['json', 'null', ''],
    ['__proto__', '"x"', 'x'],
  ])('a cell of the column %s that holds %s is written', (id, json, cell) => {
    expect(written(columnsOf(id, 'other'), [`{"${id}":${json}}`])).toBe(`${id},other\n${cell},\n`);
  });

  test('a cell of an unknown column is not written', () => {
    expect(written(columnsOf('a', 'b'), ['{"c":1}', '{"c":{"a":1},"b":2}'])).toBe('a,b\n,\n,2\n');
  });

  test('that is empty and alone in its line is written in quotes', () => {
    expect(written(columnsOf('a'), ['{}', '{"a":""}', '{"a":1}'])).toBe('a\n""\n""\n1\n');
  });
});

test('the header is written once, and so is each line', () => {
  const writer = new DelimitedRowWriter('\t', columnsOf('a', 'b,c'));
  const texts = [writer.take().toString()];
  for (const value of ['1', '2']) {
    writer.add(Buffer.from(`{"b,c":${value}}`));
    texts.push(writer.take().toString());
  }
  expect([...texts, writer.take().toString()]).toEqual(['a\tb,c\n', '\t1\n', '\t2\n', '']);
});

describe('random rows', () => {
  const text = fc.string({
    unit: fc.constantFrom(
      'a',
      'b',
      '"',
      ',',
      '\t',
      '\n',
      '\r',
      ' ',
      '\\',
      '/',
      '\uFEFF',
      '\uFF01',
      'é',
      '日',
      '😀',
      '\u001f',
    ),
    maxLength: 12,
  });
  /** All as escapes, or none but those that are needed. */
  const quoted = (value: string, isEscaped: boolean): string => {
    return isEscaped
      ? `"${value
          .split('')
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join('')}"`
      : JSON.stringify(value);
  };
  const token = fc.oneof(
    fc.tuple(text, fc.boolean()).map(([value, isEscaped]) => quoted(value, isEscaped)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.constantFrom(
      'true',
      'false',
      'null',
      '4.20',
      '-1e5',
      '[]',
      '[ 1, "x" ]',
      '{"a":{"b":["]}\\"",1]}}',
      `"${'x'.repeat(300)}"`,
    ),
    fc.json({ maxDepth: 3 }),
    fc.array(text, { maxLength: 3 }).map((value) => JSON.stringify(value)),
  );
  const ids = ['a', 'b,"', 'é', ' ', 'a long name of a column', '\\x', '$rowID', '__proto__', 'ab', '日本', '\n'];
  /** Rows whose keys come in one order, in any order, with blanks around, or as escapes. */
  const row = fc
    .tuple(
      fc.shuffledSubarray(ids),
      fc.array(token, { minLength: ids.length, maxLength: ids.length }),
      fc.constantFrom('', '', ' ', '\t '),
      fc.nat(3),
      fc.boolean(),
    )
    .map(([keys, tokens, blank, form, isSorted]) => {
      const cells = (isSorted ? ids.filter((id) => keys.includes(id)) : keys).map(
        (id, at) => `${quoted(id, form === 0)}${blank}:${blank}${tokens[at]}${blank}`,
      );
      return `{${blank}${cells.join(`,${blank}`)}}`;
    });
  const anyColumns = fc
    .shuffledSubarray(ids, { minLength: 1 })
    .map((chosen) => chosen.map((id, at) => ({ id, isJson: at % 3 === 1 })));

  test('are written as Papa Parse writes their cells', () => {
    fc.assert(
      fc.property(fc.array(row), anyColumns, fc.constantFrom<Delimiter[]>(',', '\t'), (rows, columns, delimiter) => {
        const lines = rows.map((body) => {
          const tokens = new Map(parseRow(body).map(({ id, token: json }) => [id, json]));
          return columns.map((column) => cellText(tokens.get(column.id) ?? 'null', column));
        });
        const quotes = (cell: unknown): boolean => columns.length === 1 && cell === '';
        const expected = Papa.unparse([columns.map(({ id }) => id), ...lines], { delimiter, newline: '\n', quotes });
        expect(written(columns, rows, delimiter)).toBe(`${expected}\n`);
      }),
      { numRuns: 2000 },
    );
  });

  test('are written for Excel with an apostrophe before each formula', () => {
    const cell = fc
      .tuple(fc.constantFrom('', '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠', 'é'), text, fc.boolean())
      .map(([first, rest, isEscaped]) => quoted(first + rest, isEscaped));
    fc.assert(
      fc.property(fc.array(fc.oneof(cell, token)), fc.boolean(), (cells, isJson) => {
        const columns = [{ id: '=a', isJson }, ...columnsOf('b')];
        const writer = new DelimitedRowWriter(';', columns, true);
        for (const json of cells) writer.add(Buffer.from(`{"=a":${json}}`));
        const isFormula = (shown: string): boolean =>
          /^[=+\-@\t\r\n＝＋－＠]/.test(shown) && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(shown);
        const lines = cells.map((json) => cellText(json, columns[0]!));
        const expected = lines.map((shown) => [isFormula(shown) ? `'${shown}` : shown, '']);
        const [mark, ...read] = writer.take().toString();
        expect([mark, ...Papa.parse(read.join('').slice(0, -1), { delimiter: ';', newline: '\n' }).data]).toEqual([
          '\uFEFF',
          ["'=a", 'b'],
          ...expected,
        ]);
      }),
      { numRuns: 1000 },
    );
  });

  test('are written the same with a given first cell', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.stringMatching(/^[\w-]{1,22}$/), row)), anyColumns, (rows, columns) => {
        const others = columns.filter(({ id }) => id !== '$rowID');
        const all = [{ id: '$rowID', isJson: false }, ...others];
        const bodies = rows.map(([, body]) =>
          body.replace(/"\$rowID"|"\\u0024\\u0072\\u006f\\u0077\\u0049\\u0044"/, '"another"'),
        );
        const inside = rows.map(([id], at) =>
          bodies[at]!.replace(/^\{\s*(?!\s*\})/, `{"$rowID":"${id}",`).replace(/^\{\s*\}$/, `{"$rowID":"${id}"}`),
        );
        expect(
          written(
            all,
            rows.map(([id], at) => id + bodies[at]!),
          ),
        ).toBe(written(all, inside));
      }),
      { numRuns: 1000 },
    );
  });

  test('are written the same one by one', () => {
    fc.assert(
      fc.property(fc.array(row), anyColumns, (rows, columns) => {
        const writer = new DelimitedRowWriter(',', columns);
        const texts = [writer.take().toString()];
        for (const body of rows) {
          writer.add(Buffer.from(body));
          texts.push(writer.take().toString());
        }
        expect(texts.join('')).toBe(written(columns, rows));
      }),
      { numRuns: 1000 },
    );
  });
});
