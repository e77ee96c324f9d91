/**
 * Pages of rows, as the service sends them, as the text of files. How a cell is written is tested with
 * `delimited-row-writer.ts`.
 */
import { describe, expect, test } from '@jest/globals';
import type { TextFormat } from '../../../../clients/file-import/file-format.ts';
import { PageRows } from '../../../../src/cli/export/page-rows.ts';
import { exportWriterFor } from '../../../../src/cli/export/export-writer.ts';
import { plainCsv } from '../../../../src/api/query/language/export-format.ts';
import type { WrittenColumn } from '../../../../src/language/formats/delimited-row-writer.ts';

interface Options {
  readonly columns?: readonly WrittenColumn[];
  readonly withRowIds?: boolean;
}

const columnsOf = (...ids: readonly string[]): WrittenColumn[] => ids.map((id) => ({ id, isJson: id === 'json' }));

/** What is written of these pages. */
function written(
  format: TextFormat,
  pages: readonly string[],
  { columns = columnsOf('a', 'b'), withRowIds = false }: Options = {},
): string {
  const writer = exportWriterFor(
    format,
    withRowIds ? columnsOf('$rowID', ...columns.map(({ id }) => id)) : columns,
    plainCsv,
  );
  const rows = new PageRows();
  const before = writer.begin();
  const texts = pages.map((page) => {
    rows.read(Buffer.from(page), () => writer.add(rows.scanner));
    return writer.take();
  });
  return [before, ...texts, writer.end()].join('');
}

const page = (...rows: readonly string[]): string => `{"data":[${rows.join(',')}]}`;

describe('CSV and TSV', () => {
  test.each<readonly [string, TextFormat, readonly string[], Options, string]>([
    ['no rows', 'csv', [page()], {}, 'a,b\n'],
    [
      'columns in their order, whatever the order in a row',
      'csv',
      [page('{"$rowID":"x","b":1,"a":2}', '{"$rowID":"y","b":3}')],
      {},
      'a,b\n2,1\n,3\n',
    ],
    ['TSV', 'tsv', [page(String.raw`{"a":"x,y","b":"x\ty"}`)], {}, 'a\tb\nx,y\t"x\ty"\n'],
    [
      'row IDs',
      'csv',
      [page('{"$rowID":"x","a":1}'), page('{"$rowID":"y","b":2}')],
      { withRowIds: true },
      '$rowID,a,b\nx,1,\ny,,2\n',
    ],
  ])('rows are written as CSV and TSV: %s', (_what, format, pages, options, text) => {
    expect(written(format, pages, options)).toBe(text);
  });

  test('a column that the header lacks is an error', () => {
    expect(() => written('csv', [page('{"a":1,"c":2}')])).toThrow('columns of the table changed while it was read');
  });

  test('a table without columns needs another format, or row IDs', () => {
    expect(() => written('csv', [page('{"$rowID":"x"}')], { columns: [] })).toThrow('no columns');
    expect(written('csv', [page('{"$rowID":"x"}')], { columns: [], withRowIds: true })).toBe('$rowID\nx\n');
  });
});

describe('JSON and NDJSON', () => {
  const rows = ['{"$rowID":"x","a":4.20,"b":[1.0, "y"]}', '{"$rowID":"y"}'];

  test.each<readonly [string, TextFormat, readonly string[], Options, string]>([
    ['no rows', 'json', [page()], {}, '[]\n'],
    ['no lines', 'ndjson', [page()], {}, ''],
    [
      'an array',
      'json',
      [page(...rows), page(...rows)],
      {},
      '[\n{"a":4.20,"b":[1.0, "y"]},\n{},\n{"a":4.20,"b":[1.0, "y"]},\n{}\n]\n',
    ],
    [
      'lines',
      'ndjson',
      [page(...rows), page(rows[0]!)],
      {},
      '{"a":4.20,"b":[1.0, "y"]}\n{}\n{"a":4.20,"b":[1.0, "y"]}\n',
    ],
    ['row IDs', 'ndjson', [page(...rows)], { withRowIds: true }, `${rows.join('\n')}\n`],
    ['row IDs that do not come first', 'ndjson', [page('{"a":1,"$rowID":"x","b":2}')], {}, '{"a":1,"b":2}\n'],
    ['each row in one line', 'ndjson', [page('{"$rowID":"x","a":{\n"y":\r\n1}}')], {}, '{"a":{ "y": 1}}\n'],
    ['blanks', 'ndjson', [' { "data" : [ {"$rowID" : "x" , "a" : 1 } ] } '], {}, '{ "a" : 1 }\n'],
  ])('rows are written as JSON and NDJSON: %s', (_what, format, pages, options, text) => {
    expect(written(format, pages, options)).toBe(text);
  });
});

describe('pages', () => {
  test.each([
    ['{"data":[]}', null],
    ['{"data":[{"a":"\\"continuation\\":\\"x\\""}],"continuation":"y\\u002d"}', 'y-'],
    ['{"continuation":"z","data":[]}', 'z'],
  ])('the continuation of %s', (text, continuation) => {
    expect(new PageRows().read(Buffer.from(text), () => {})).toBe(continuation);
  });

  test.each(['', '[]', '{"data":{}}', '{"data":[1]}', '{"data":[{}]', '<html>'])('%j is no page', (text) => {
    expect(() => new PageRows().read(Buffer.from(text), () => {})).toThrow('not as Tablog does');
  });
});
