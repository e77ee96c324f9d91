/** What the first rows of a file say, and what they are refused with. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import type { Format } from '../../../../clients/file-import/file-format.ts';
import { MalformedFile } from '../../../../clients/file-import/malformed-file.ts';
import { preview, type Preview, type PreviewOptions } from '../../../../clients/file-import/preview.ts';
import { sourceOfBlob } from '../../../../clients/file-import/source-of-blob.ts';

const never = new AbortController().signal;

function previewOf(
  format: Format,
  content: string | Uint8Array<ArrayBuffer>,
  options: Partial<PreviewOptions> = {},
  name = `file.${format}`,
): Promise<Preview> {
  return preview(sourceOfBlob(new File([content], name)), {
    format,
    encoding: 'utf-8',
    onSchemaError: 'abort',
    signal: never,
    ...options,
  });
}

async function mistakeOf(
  format: Format,
  content: string | Uint8Array<ArrayBuffer>,
  options: Partial<PreviewOptions> = {},
  name?: string,
): Promise<readonly [number | null, string]> {
  const error: unknown = await previewOf(format, content, options, name).catch((thrown: unknown) => thrown);
  if (!(error instanceof MalformedFile)) throw error;
  return [error.line, error.reason];
}

const people = {
  delimiter: ',',
  sheets: [],
  texts: [],
  notes: [],
  rowsRead: 2,
  isWhole: true,
  columns: [
    { id: 'name', type: 'string' },
    { id: 'age', type: 'number' },
    { id: 'born', type: 'date' },
  ],
  rows: [
    ['Ann', '36', '1988-03-01'],
    ['Bo', null, '2001-12-31'],
  ],
};

describe('columns, types and rows', () => {
  test.each<readonly [string, Format, string | Uint8Array<ArrayBuffer>, Partial<PreviewOptions>, object]>([
    ['CSV', 'csv', 'name,age,born\nAnn,36,1988-03-01\nBo,,2001-12-31\n', {}, people],
    [
      'a recognised delimiter',
      'csv',
      'name;age;born\nAnn;36;1988-03-01\nBo;;2001-12-31\n',
      {},
      { ...people, delimiter: ';' },
    ],
    [
      'a delimiter that was told',
      'csv',
      'a;b,c\n1;2\n',
      { form: { delimiter: ',' } },
      {
        delimiter: ',',
        columns: [
          { id: 'a;b', type: 'string' },
          { id: 'c', type: 'string' },
        ],
        rows: [['1;2', null]],
      },
    ],
    ['TSV', 'tsv', 'name\tage\tborn\nAnn\t36\t1988-03-01\nBo\t\t2001-12-31\n', {}, { ...people, delimiter: '\t' }],
    [
      'cells in the way',
      'csv',
      'n\n1\n\n"NA"\n',
      {},
      {
        columns: [{ id: 'n', type: 'string' }],
        texts: [
          {
            id: 'n',
            kind: 'number',
            filled: 2,
            misfits: 1,
            first: [{ place: 4, text: 'NA' }],
            help: { null: ['NA'] },
            helped: 1,
          },
        ],
      },
    ],
    [
      'what cells mean',
      'csv',
      'n;d\n1.234,5;31.12.2024\nNA;\n',
      { form: { decimal: ',', dateFormat: 'd.m.y', null: ['NA'] } },
      {
        columns: [
          { id: 'n', type: 'number' },
          { id: 'd', type: 'date' },
        ],
        rows: [
          ['1234.5', '2024-12-31'],
          [null, null],
        ],
        texts: [],
      },
    ],
    [
      'another encoding',
      'csv',
      new Uint8Array([0x61, 0x0a, 0xe4, 0x0a]),
      { encoding: 'windows-1252' },
      { rows: [['ä']] },
    ],
    [
      'texts that are no numbers',
      'csv',
      'zip\n01234\n90210\n',
      {},
      { columns: [{ id: 'zip', type: 'string' }], rows: [['01234'], ['90210']] },
    ],
    [
      'a header alone',
      'csv',
      'a,b\n',
      {},
      {
        columns: [
          { id: 'a', type: 'string' },
          { id: 'b', type: 'string' },
        ],
        rows: [],
        rowsRead: 0,
      },
    ],
    [
      'JSON',
      'json',
      '[{"n":1,"tags":["a"],"more":{"x":[1]}},{"tags":"b","ok":true}]',
      {},
      {
        delimiter: null,
        columns: [
          { id: 'n', type: 'number' },
          { id: 'tags', type: 'array<string>' },
          { id: 'more', type: 'json' },
          { id: 'ok', type: 'boolean' },
        ],
        rows: [
          ['1', '["a"]', '{"x":[1]}', null],
          [null, '["b"]', null, 'true'],
        ],
      },
    ],
    [
      'NDJSON',
      'ndjson',
      '{"a":1.5}\n\n{"a":null,"b":"x"}\n',
      {},
      {
        delimiter: null,
        columns: [
          { id: 'a', type: 'number' },
          { id: 'b', type: 'string' },
        ],
        rows: [
          ['1.5', null],
          [null, 'x'],
        ],
      },
    ],
    ['no rows', 'json', '[]', {}, { columns: [], rows: [], rowsRead: 0, isWhole: true }],
  ])('the preview shows columns, types and rows: %s', async (_what, format, content, options, expected) => {
    expect(await previewOf(format, content, options)).toMatchObject(expected);
  });

  test('columns without a name get one in the preview, with a note', async () => {
    const file = ',a,\n1,x,\n';
    expect(await previewOf('csv', file)).toMatchObject({
      columns: [{ id: 'column_1' }, { id: 'a' }],
      notes: ['column_1: had no name', 'column_3: had no name and no values, and was left out'],
    });
    // Values may follow behind the first rows.
    expect(await previewOf('csv', `${file}${'2,y,\n'.repeat(1000)}`)).toMatchObject({
      notes: ['column_1: had no name'],
    });
  });

  test('the preview shows the first rows of many', async () => {
    const file = `n\n${'1\n'.repeat(1000)}${'x\n'.repeat(5000)}`;
    expect(await previewOf('csv', file)).toMatchObject({
      columns: [{ id: 'n', type: 'number' }],
      rowsRead: 1000,
      isWhole: false,
      rows: Array.from({ length: 20 }, () => ['1']),
    });
    expect(await previewOf('csv', `n\n${'1\n'.repeat(1000)}`)).toMatchObject({ rowsRead: 1000, isWhole: true });
  });

  test('the preview reads 1 MiB of long rows', async () => {
    const { rowsRead, isWhole } = await previewOf('ndjson', `{"a":"${'x'.repeat(100_000)}"}\n`.repeat(40));
    expect([rowsRead, isWhole]).toEqual([10, false]);
  });

  test('a compressed file is previewed', async () => {
    expect(
      await previewOf(
        'csv',
        new Uint8Array(gzipSync('name,age,born\nAnn,36,1988-03-01\nBo,,2001-12-31\n')),
        {},
        'people.csv.gz',
      ),
    ).toEqual(people);
  });
});

describe('a mistake has its line', () => {
  test.each<readonly [string, Format, string | Uint8Array<ArrayBuffer>, readonly [number | null, string]]>([
    ['a quote', 'csv', 'a,b\n1,2\n3,x"y"\n', [3, 'b: "x\\"" has a quote in it, but does not begin with one']],
    [
      'a quote that is never closed',
      'csv',
      'a,b\n1,2\n3,"y\n',
      [3, 'cell 2: "\\"y\\n" begins with a quote that is never closed'],
    ],
    [
      'a quote between semicolons',
      'csv',
      'a;b\n1;2\n3;x"y\n',
      [3, 'b: "x\\"" has a quote in it, but does not begin with one'],
    ],
    ['too many cells', 'csv', '\na,b\n1,2\n\n3,4,5\n', [5, 'the line has 3 cells, the header 2']],
    ['a name that occurs twice', 'csv', '\na,a\n1,2\n', [2, 'the column ID "a" occurs twice']],
    ['a long cell', 'csv', `a\n1\n${'x'.repeat(300_000)}\n`, [3, 'a: a cell must not be longer than 262144 bytes']],
    ['no header', 'csv', '', [1, 'the file has no header: its first line must name the columns']],
    ['what is no UTF-8', 'csv', new Uint8Array([0x61, 0x0a, 0xff, 0x0a]), [2, 'the text is not UTF-8']],
    ['broken JSON', 'json', '[{"a":1},\n{"a":x}]', [2, 'a: broken JSON, unexpected "x"']],
    ['no object', 'ndjson', '{"a":1}\n7\n', [2, 'a row must be an object']],
    [
      'a reserved name',
      'ndjson',
      '{"a":1}\n{"b":1,"$stashID":"x"}\n',
      [2, '$stashID: the column ID "$stashID" is reserved'],
    ],
    ['a workbook', 'csv', 'PK\x03\x04....', [null, 'this is a zip archive, not text: unpack it first']],
  ])('a mistake has its line: %s', async (_what, format, content, mistake) => {
    expect(await mistakeOf(format, content)).toEqual(mistake);
  });

  test('an integer that a double cannot hold is no mistake: its column is text', async () => {
    expect(await previewOf('ndjson', '{"a":1}\n{"a":12345678901234567891}\n')).toMatchObject({
      columns: [{ id: 'a', type: 'string' }],
      rows: [['1'], ['12345678901234567891']],
    });
  });

  test('a dropped cell is no mistake', async () => {
    expect(await previewOf('csv', 'a\n1\n\0\n', { onSchemaError: 'dropColumns' })).toMatchObject({
      rows: [['1'], [null]],
    });
  });

  test('a file that is no gzip, is truncated, or is Zstandard is refused', async () => {
    const whole = new Uint8Array(gzipSync('a\n1\n'));
    for (const content of ['a\n1\n', whole.slice(0, -3)])
      expect((await mistakeOf('csv', content, {}, 'a.csv.gz'))[1]).toMatch(/^this is not valid gzip data/);
    expect(await mistakeOf('csv', new Uint8Array(zstdCompressSync('a\n1\n')), {}, 'a.csv.zst')).toEqual([
      null,
      'a browser cannot decompress Zstandard: decompress the file first',
    ]);
  });
});

test('a caller that stops it gets the reason', async () => {
  const stopping = new AbortController();
  stopping.abort(new Error('stopped'));
  for (const name of ['a.csv', 'a.csv.gz'])
    await expect(previewOf('csv', 'a\n1\n', { signal: stopping.signal }, name)).rejects.toThrow('stopped');
});
