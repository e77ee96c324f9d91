/** The preview of a file shows what the service makes of the file. */
import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { preview } from '../../clients/file-import/preview.ts';
import { sourceOfBlob } from '../../clients/file-import/source-of-blob.ts';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { cellsOf } from '../support/tables.ts';

const { client } = useApi();

interface Column {
  readonly id: string;
  readonly type: string | { readonly kind: 'array'; readonly items: { readonly kind: string } };
}

const mixed = [
  { a: [1], b: 'x', c: 1 },
  { a: 2, b: 7, d: '2024-02-29' },
  { c: '2', d: '2024-02-29T10:00:00Z', e: [] },
  { a: null, e: {}, f: 'https://example.org/é' },
];

test.each<readonly [string, string | null]>([
  ['la-riots.csv', null],
  ['us-employment.csv', null],
  ['stocks.csv', null],
  ['github.csv', null],
  ['cars.json', null],
  ['budgets.json', null],
  ['mixed.json', JSON.stringify(mixed)],
])('the preview of %s agrees with the table that is made of it', async (name, content) => {
  const bytes = new Uint8Array(
    content === null
      ? await readFile(new URL(`../../node_modules/vega-datasets/data/${name}`, import.meta.url))
      : Buffer.from(content),
  );
  const isJson = name.endsWith('.json');
  const { columns, rows, rowsRead, isWhole } = await preview(sourceOfBlob(new File([bytes], name)), {
    format: isJson ? 'json' : 'csv',
    encoding: 'utf-8',
    onSchemaError: 'abort',
    signal: new AbortController().signal,
  });
  expect(isWhole).toBe(true);

  const created = await client().post(`/tables?name=${name}`, Buffer.from(bytes), {
    'content-type': isJson ? 'application/json' : 'text/csv',
  });
  expect(outcomeOf(created)).toBe('201');
  const { tableID, rowIDs } = created.json.data;
  expect(rowIDs).toHaveLength(rowsRead);
  const { schema } = (await client().get(`/tables/${tableID}`)).json.data;
  expect(columns).toEqual(
    schema.columns.map(({ id, type }: Column) => ({
      id,
      type: typeof type === 'string' ? type : `array<${type.items.kind}>`,
    })),
  );
  const read = cellsOf(await client().rows(tableID)).slice(0, 20);
  const textOf = (value: unknown): string | null =>
    value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);
  expect(rows).toEqual(read.map((row) => columns.map(({ id }) => textOf(row[id]))));
});
