/** What would be inferred from a whole file, and which cells are in the way. */
import { expect, test } from '@jest/globals';
import type { Format } from '../../../../clients/file-import/file-format.ts';
import { MalformedFile } from '../../../../clients/file-import/malformed-file.ts';
import { readTypes, type FileTypes } from '../../../../clients/file-import/read-types.ts';
import { sourceOfBlob } from '../../../../clients/file-import/source-of-blob.ts';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';

const read = (format: Format, content: string, form: DelimitedForm = {}): Promise<FileTypes> =>
  readTypes(sourceOfBlob(new File([content], `file.${format}`)), {
    format,
    encoding: 'utf-8',
    form,
    onSchemaError: 'abort',
    signal: new AbortController().signal,
    onRecognised: () => undefined,
  });

test('cells after the first chunk are counted, with the lines of the file', async () => {
  const rows = Array.from({ length: 2_500 }, (_, row) => `${row},"a\nb",${row % 2 === 0}\n`).join('');
  const { columns, texts, rows: count } = await read('csv', `n,text,b\n${rows}NA,x,true\nx,y,false\n1,z,NA\n-,,\n`);
  expect([columns, count]).toEqual([
    [
      { id: 'n', type: 'string' },
      { id: 'text', type: 'string' },
      { id: 'b', type: 'string' },
    ],
    2_504,
  ]);
  expect(texts).toEqual([
    {
      id: 'n',
      kind: 'number',
      filled: 2_504,
      misfits: 3,
      first: [
        { place: 5_002, text: 'NA' },
        { place: 5_003, text: 'x' },
        { place: 5_005, text: '-' },
      ],
      help: { null: ['NA', '-'] },
      helped: 2,
    },
    {
      id: 'b',
      kind: 'boolean',
      filled: 2_503,
      misfits: 1,
      first: [{ place: 5_004, text: 'NA' }],
      help: { null: ['NA'] },
      helped: 1,
    },
  ]);
});

test('the stated form of a file applies, also its types of columns', async () => {
  const file = 'zip;n;d\n8001;1.234,5;1.2.2024\n8002;NA;NA\n';
  expect(
    await read('csv', file, { decimal: ',', null: ['NA'], dateFormat: 'd.m.y', types: { zip: 'string' } }),
  ).toMatchObject({
    columns: [
      { id: 'zip', type: 'string' },
      { id: 'n', type: 'number' },
      { id: 'd', type: 'date' },
    ],
    texts: [],
  });
  await expect(read('csv', file, { types: { zip: 'date' } })).rejects.toEqual(
    new MalformedFile(2, 'zip: "8001" does not fit the column\'s type date'),
  );
});

test('the types of JSON are known without reading the file again', async () => {
  expect(await read('ndjson', '{"a":1}\n{"a":"NA"}\n')).toEqual({
    columns: [{ id: 'a', type: 'string' }],
    texts: [],
    rows: 2,
    notes: [],
  });
});
