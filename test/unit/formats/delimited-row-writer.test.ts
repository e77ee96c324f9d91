/** Rows as CSV and TSV: how a value in JSON becomes a cell. `test/unit/cli/row-writer.test.ts` has lines of whole pages. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import Papa from 'papaparse';
import { DelimitedRowWriter } from '../../../src/formats/delimited-row-writer.ts';

const columnsOf = (...ids: readonly string[]) => ids.map((id) => ({ id, isJson: id === 'json' }));

describe('a cell', () => {
  test.each<readonly [string, string, string]>([
    ['a', '"x"', 'x'],
    ['a', String.raw`"x\"y\u00e9"`, '"x""yé"'],
    ['a', '4.20', '4.20'],
    ['a', 'true', 'true'],
    ['a', 'null', ''],
    ['a', '["x",1]', '"[""x"",1]"'],
    ['json', '"x"', '"""x"""'],
    ['json', 'null', ''],
    ['__proto__', '"x"', 'x'],
  ])('of the column %s that holds %s', (id, json, cell) => {
    const writer = new DelimitedRowWriter(',', columnsOf(id, 'other'));
    expect(writer.set(id, json)).toBe(true);
    writer.endRow();
    expect(writer.take()).toBe(`${id},other\n${cell},\n`);
  });

  test('of a column that is not there is not written', () => {
    const writer = new DelimitedRowWriter(',', columnsOf('a', 'b'));
    expect(writer.set('c', '1')).toBe(false);
    writer.endRow();
    expect(writer.take()).toBe('a,b\n,\n');
  });
});

test('the header comes once, and each line once', () => {
  const writer = new DelimitedRowWriter('\t', columnsOf('a', 'b,c'));
  const texts = [writer.take()];
  for (const value of ['1', '2']) {
    writer.set('b,c', value);
    writer.endRow();
    texts.push(writer.take());
  }
  expect([...texts, writer.take()]).toEqual(['a\tb,c\n', '\t1\n', '\t2\n', '']);
});

test('bodies are written as Papa Parse writes their cells, whatever their order', () => {
  const value = fc.oneof(fc.string({ unit: fc.constantFrom('a', '"', ',', '\t', '\n', '\r', ' ', '\\', '\uFEFF', 'é') }), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
  const ids = ['a', 'b,"', 'é', ' '];
  const row = fc.subarray(ids, { minLength: 0 }).chain((keys) => fc.shuffledSubarray(keys, { minLength: keys.length })).chain((keys) => {
    return fc.tuple(...keys.map((key) => value.map((cell) => [key, cell] as const))).map((cells) => Object.fromEntries(cells));
  });
  fc.assert(fc.property(fc.array(row), fc.subarray(ids, { minLength: 1 }), fc.constantFrom(',', '\t'), (rows, columns, delimiter) => {
    const writer = new DelimitedRowWriter(delimiter, columnsOf(...columns));
    for (const cells of rows) {
      writer.setAll(JSON.stringify(cells));
      writer.endRow();
    }
    const cellOf = (cell: unknown): string => (typeof cell === 'string' ? cell : cell === undefined ? '' : JSON.stringify(cell));
    const lines = [columns, ...rows.map((cells) => columns.map((id) => cellOf(cells[id])))];
    const quotes = (cell: unknown): boolean => columns.length === 1 && cell === '';
    expect(writer.take()).toBe(`${Papa.unparse(lines, { delimiter, newline: '\n', quotes })}\n`);
  }));
});
