/**
 * Published data sets, loaded over HTTP: every value that comes back is compared with the file (docs/spec/decisions.md
 * 2).
 */
import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import Papa from 'papaparse';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { boundOf, naturalType, presented, type Json } from '../support/column-types.ts';
import { cellsOf } from '../support/tables.ts';

const { client } = useApi();

type Row = Record<string, Json>;
type Reviver = (this: unknown, key: string, value: Json, context: { source?: string }) => Json;

const read = (file: string): Promise<string> =>
  readFile(new URL(`../../node_modules/vega-datasets/data/${file}`, import.meta.url), 'utf8');

/** The rows, and each number as it is written in the file. */
function parseRows(text: string): { rows: Row[]; tokenOf: (value: number) => string } {
  const tokens = new Map<number, string>();
  const remember: Reviver = (_key, value, { source }) => {
    if (typeof value === 'number') tokens.set(value, source!);
    return value;
  };
  const rows = JSON.parse(text, remember as Parameters<typeof JSON.parse>[1]) as Row[];
  return { rows, tokenOf: (value) => tokens.get(value)! };
}

/** The types that the columns of these rows are inferred to have. */
function inferTypes(rows: readonly Row[]): Map<string, string> {
  const types = new Map<string, string | null>();
  for (const row of rows) {
    for (const [id, value] of Object.entries(row)) {
      const [known, natural] = [types.get(id) ?? null, naturalType(value)];
      types.set(id, known === null || natural === null ? (known ?? natural) : boundOf(known, natural));
    }
  }
  return new Map([...types].map(([id, type]) => [id, type ?? 'string']));
}

function expected({ rows, tokenOf }: ReturnType<typeof parseRows>): Row[] {
  const types = inferTypes(rows);
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row)
        .filter(([, value]) => value !== null)
        .map(([id, value]) => [id, presented(value, types.get(id)!, tokenOf)]),
    ),
  );
}

async function expectLoaded(tableId: string, wanted: readonly Row[]): Promise<void> {
  const cells = cellsOf(await client().rows(tableId, 7_001));
  expect(cells).toHaveLength(wanted.length);
  // Row by row, so that a difference is shown as one row.
  for (const [index, row] of wanted.entries()) {
    if (JSON.stringify(sorted(row)) !== JSON.stringify(sorted(cells[index]!)))
      expect([index, cells[index]]).toEqual([index, row]);
  }
}

const sorted = (row: object): unknown => Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1));

test.each([
  ['movies.json', { 'Title': 'string', 'US Gross': 'number', 'Release Date': 'string', 'IMDB Rating': 'number' }],
  ['cars.json', { Name: 'string', Miles_per_Gallon: 'number', Year: 'date' }],
  ['flights-20k.json', { date: 'string', delay: 'number', origin: 'string' }],
])('%s is loaded as it is published', async (file, types) => {
  const text = await read(file);
  const parsed = parseRows(text);
  expect(Object.fromEntries(inferTypes(parsed.rows))).toMatchObject(types);
  const created = await client().post(`/tables?name=${file}`, text);
  expect(outcomeOf(created)).toBe('201');
  expect(created.json.data.rowIDs).toHaveLength(parsed.rows.length);
  await expectLoaded(created.json.data.tableID, expected(parsed));
});

test('movies.json is loaded in small writes that widen the columns', async () => {
  const parsed = parseRows(await read('movies.json'));
  const created = await client().post('/tables', { name: 'movies', rows: [] });
  for (let from = 0; from < parsed.rows.length; from += 97) {
    const chunk = parsed.rows.slice(from, from + 97);
    const added = await client().post(`/tables/${created.json.data.tableID}/rows?onSchemaError=updateSchema`, chunk);
    expect(outcomeOf(added)).toBe('201');
  }
  await expectLoaded(created.json.data.tableID, expected(parsed));
});

test('the codes of zipcodes.csv as JSON stay texts, with their zeros', async () => {
  const { data } = Papa.parse<Record<string, string>>(await read('zipcodes.csv'), {
    header: true,
    skipEmptyLines: true,
  });
  const text = `[${data
    .map(
      ({ latitude, longitude, ...row }) =>
        `${JSON.stringify(row).slice(0, -1)},"latitude":${latitude},"longitude":${longitude}}`,
    )
    .join(',\n')}]`;
  const parsed = parseRows(text);
  expect(Object.fromEntries(inferTypes(parsed.rows))).toMatchObject({ zip_code: 'string', latitude: 'number' });
  const created = await client().post('/tables?name=zipcodes', text);
  expect(outcomeOf(created)).toBe('201');
  const wanted = expected(parsed);
  expect(wanted[0]).toMatchObject({ zip_code: '00501', latitude: 40.922326 });
  await expectLoaded(created.json.data.tableID, wanted);
});
