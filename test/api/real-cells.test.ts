/**
 * Published CSV and TSV files are loaded over HTTP unchanged, and every cell that comes back is compared with the file.
 */
import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import Papa from 'papaparse';
import { useApi } from '../support/api.ts';
import { inferredType, presentedCell } from '../support/cells.ts';
import { outcomeOf } from '../support/client.ts';
import { cellsOf } from '../support/tables.ts';

const { client } = useApi();

test.each<[file: string, mediaType: string, types: Record<string, string>]>([
  ['zipcodes.csv', 'text/csv', { zip_code: 'string', latitude: 'number', city: 'string' }],
  ['airports.csv', 'text/csv', { iata: 'string', name: 'string', latitude: 'number' }],
  ['unemployment.tsv', 'text/tab-separated-values', { id: 'number', rate: 'number' }],
  ['birdstrikes.csv', 'text/csv', { 'Flight Date': 'date', 'Cost Total $': 'number' }],
  ['us-employment.csv', 'text/csv', { month: 'date', nonfarm: 'number' }],
  ['species.csv', 'text/csv', { item_id: 'string' }],
  ['la-riots.csv', 'text/csv', { first_name: 'string', age: 'number', death_date: 'date' }],
  ['windvectors.csv', 'text/csv', { longitude: 'number', dir: 'number' }],
  ['seattle-weather-hourly-normals.csv', 'text/csv', { date: 'dateTime', temperature: 'number' }],
])('%s, as it is published', async (file, mediaType, types) => {
  const bytes = await readFile(new URL(`../../node_modules/vega-datasets/data/${file}`, import.meta.url));
  const text = bytes.toString().replace(/^\ufeff/, '');
  const { data, errors } = Papa.parse<string[]>(text, {
    skipEmptyLines: true,
    delimiter: mediaType === 'text/csv' ? ',' : '\t',
  });
  expect(errors).toEqual([]);
  const [header, ...rows] = data as [string[], ...string[][]];
  const inferred = header.map((_, at) => inferredType(rows.map((row) => row[at] ?? '')));
  expect(Object.fromEntries(header.map((id, at) => [id, inferred[at]]))).toMatchObject(types);

  const created = await client().post(`/tables?name=${file}`, bytes, { 'content-type': mediaType });
  expect(outcomeOf(created)).toBe('201');
  expect(created.json.data.rowIDs).toHaveLength(rows.length);
  const read = await client().rows(created.json.data.tableID, 7_001);
  expect(read.map((row) => row['$rowID'])).toEqual(created.json.data.rowIDs);

  const cells = cellsOf(read);
  expect(cells).toHaveLength(rows.length);
  for (const [index, row] of rows.entries()) {
    const wanted = Object.fromEntries(
      header
        .map((id, at) => [id, row[at] ?? '', inferred[at]!] as const)
        .filter(([, cell]) => cell !== '')
        .map(([id, cell, type]) => [id, presentedCell(cell, type)]),
    );
    // Row by row, so that a difference is shown as one row.
    if (JSON.stringify(wanted) !== JSON.stringify(cells[index])) expect([index, cells[index]]).toEqual([index, wanted]);
  }
});
