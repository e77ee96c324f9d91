import { expect, test } from '@jest/globals';
import Papa from 'papaparse';
import { RowsCsv, writtenColumns } from '../../../../projections/tables/rows-csv.ts';
import { formatRowId, rowIdPrefix } from '../../../../src/language/events/row-id.ts';
import { schemaOf } from '../../../../src/language/values/table-schema.ts';

const schema = schemaOf(
  [
    { id: 'name', type: 'string' },
    { id: 'tags', type: 'array<string>' },
    { id: 'json', type: 'json' },
  ],
  1n,
);

test('each row is a line: its ID, and its cells in the order of the schema', () => {
  const rows = new RowsCsv(writtenColumns(schema));
  rows.add(rowIdPrefix(7n, 1), 2, String.raw`{"json":"x","name":"A, \"B\"\n"}`);
  rows.addRetained('AAAAAAAAAAEAAAAAAAAAAA', '{"tags":["a",1.50],"gone":1}');
  expect(rows.count).toBe(2);
  expect(rows.page().toString()).toBe(
    `$rowID,name,tags,json\n${formatRowId({ version: 7n, ordinal: 1, index: 2 })},"A, ""B""\n",,"""x"""\nAAAAAAAAAAEAAAAAAAAAAA,,"[""a"",1.50]",\n`,
  );
});

test.each([0, 1, 63, 64, 65, 200])('%i rows make as many lines', (count) => {
  const rows = new RowsCsv(writtenColumns(schema));
  for (let index = 0; index < count; index += 1) rows.add(rowIdPrefix(7n, 1), index, `{"name":"${index}"}`);
  const { data } = Papa.parse<Record<string, string>>(rows.page().toString().trimEnd(), { header: true });
  expect(data.map(({ name }) => name)).toEqual(Array.from({ length: count }, (_, index) => String(index)));
});
