/**
 * Files as spreadsheets, R, pandas and other programs write them, over HTTP and from the command line: each has one
 * correct result.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from '@jest/globals';
import { outcomeOf } from '../../../support/client.ts';
import { useCommandLine } from '../../../support/command-line.ts';
import { cellsOf } from '../../../support/tables.ts';

const { client, imported, tablog } = useCommandLine();

const pathOf = (file: string): string => join(import.meta.dirname, 'files-as-people-have-them', file);

interface Case {
  readonly what: string;
  readonly file: string;
  /** The form as query parameters, and as flags of `tablog import`. Absent `flags` follow from `form`. */
  readonly form?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** Present if only the command line detects the form, and the service does not. */
  readonly formOverHttp?: Readonly<Record<string, string>>;
  readonly mediaType?: string;
  /** The types of the columns, in their order. */
  readonly types: Readonly<Record<string, string>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** The notes in the answer. */
  readonly notes?: string;
}

const cases: readonly Case[] = [
  {
    what: 'pandas leaves the name of its index empty',
    file: 'empty-first-header-pandas.csv',
    types: { column_1: 'number', name: 'string', age: 'number' },
    rows: [
      { column_1: 0, name: 'Ann', age: 5 },
      { column_1: 1, name: 'Bob', age: 6 },
    ],
    notes: 'column_1: had no name',
  },
  {
    what: 'R leaves the name of its rows empty, in quotes',
    file: 'empty-first-header-r.csv',
    types: { column_1: 'number', speed: 'number', dist: 'number' },
    rows: [{ column_1: 1, speed: 4, dist: 2 }],
    notes: 'column_1: had no name',
  },
  {
    what: 'each line ends with a comma',
    file: 'trailing-delimiter.csv',
    types: { a: 'number', b: 'number', c: 'number' },
    rows: [{ a: 1, b: 2, c: 3 }],
    notes: 'column_4: had no name and no values, and was left out',
  },
  {
    what: 'two columns have one name',
    file: 'duplicate-header.csv',
    form: { duplicateColumns: 'rename' },
    flags: ['--rename-duplicates'],
    types: { id: 'number', name: 'string', name_2: 'string' },
    rows: [{ id: 1, name: 'a', name_2: 'b' }],
  },
  {
    what: 'names have commas, and cells stand between semicolons',
    file: 'commas-in-semicolon-header.csv',
    formOverHttp: { delimiter: ';' },
    types: { 'Preis, netto': 'string', 'Menge, Stk': 'number' },
    rows: [
      { 'Preis, netto': '1,50', 'Menge, Stk': 5 },
      { 'Preis, netto': '2,75', 'Menge, Stk': 6 },
    ],
    notes: 'Preis, netto: text because of 2 of 2 cells, such as 1,50 in row 1 - decimal=, would help',
  },
  {
    what: 'the same, with decimal commas',
    file: 'commas-in-semicolon-header.csv',
    form: { decimal: ',' },
    flags: ['--decimal', ','],
    formOverHttp: { delimiter: ';', decimal: ',' },
    types: { 'Preis, netto': 'number', 'Menge, Stk': 'number' },
    rows: [
      { 'Preis, netto': 1.5, 'Menge, Stk': 5 },
      { 'Preis, netto': 2.75, 'Menge, Stk': 6 },
    ],
  },
  {
    what: 'a title stands before the header',
    file: 'lines-before-header.csv',
    form: { skipLines: '3' },
    flags: ['--skip-lines', '3'],
    types: { year: 'number', mean: 'number' },
    rows: [{ year: 1959, mean: 315.98 }],
  },
  {
    what: 'a quote in a cell is a mark of inches',
    file: 'inch-mark.csv',
    form: { lenient: 'true' },
    flags: ['--lenient'],
    types: { name: 'string', size: 'string' },
    rows: [{ name: 'blue', size: '6 x 5"' }],
  },
  {
    what: 'blanks stand before quoted cells',
    file: 'blank-before-quote.csv',
    types: { Index: 'number', Item: 'string' },
    rows: [{ Index: 1, Item: 'Sunscreen, 8 oz' }],
    notes: 'blanks around quoted cells: were left out',
  },
  {
    what: 'cells that are empty say so',
    file: 'null-markers.csv',
    form: { null: 'NA,NULL' },
    flags: ['--null', 'NA,NULL'],
    types: { id: 'number', age: 'number', score: 'number' },
    rows: [{ id: 1 }, { id: 2, age: 35, score: 4.5 }],
  },
  {
    what: 'numbers have no digit before or behind the point, or a plus',
    file: 'number-spellings.csv',
    types: { a: 'number', b: 'number' },
    rows: [
      { a: 0.5, b: 5 },
      { a: -0.25, b: 3 },
    ],
  },
  {
    what: 'numbers have a decimal comma, and dates begin with the day',
    file: 'decimal-comma-and-day-first.csv',
    form: { delimiter: ';', decimal: ',', dateFormat: 'd.m.y' },
    flags: ['--delimiter', ';', '--decimal', ',', '--date-format', 'd.m.y'],
    types: { Land: 'string', Betrag: 'number', Tag: 'date' },
    rows: [{ Land: 'CH', Betrag: 1234.5, Tag: '2024-12-31' }],
  },
  {
    what: 'a blank stands between date and time',
    file: 'date-time-with-blank.csv',
    types: { at: 'dateTime' },
    rows: [{ at: '2024-03-01 10:00:00' }, { at: '2024-03-02 11:30:00' }],
  },
  {
    what: 'the only column has an empty cell, in quotes',
    file: 'empty-cell-in-one-column.csv',
    form: { delimiter: ';' },
    flags: ['--delimiter', ';'],
    types: { x: 'string' },
    rows: [{}, { x: 'a' }],
  },
  {
    what: 'JSON has integers that no double holds',
    file: 'snowflake-id.json',
    mediaType: 'application/json',
    types: { id: 'string', n: 'string' },
    rows: [{ id: '1610521604143693812', n: 'a' }],
  },
  {
    what: 'JSON lines have the name of JSON',
    file: 'lines-named.json',
    mediaType: 'application/x-ndjson',
    types: { a: 'number' },
    rows: [{ a: 1 }, { a: 2 }],
  },
];

async function expectTable(tableId: string, { types, rows }: Case): Promise<void> {
  const { schema } = (await client().get(`/tables/${tableId}`)).json.data;
  expect(schema.columns.map(({ id, type }: { id: string; type: unknown }) => [id, type])).toEqual(
    Object.entries(types),
  );
  expect(cellsOf(await client().rows(tableId))).toEqual(rows);
}

async function create(
  file: string,
  parameters: Readonly<Record<string, string>> = {},
  mediaType = 'text/csv',
): ReturnType<ReturnType<typeof client>['send']> {
  return client().send(`/tables?${new URLSearchParams({ name: file, ...parameters })}`, {
    method: 'POST',
    body: await readFile(pathOf(file)),
    headers: { 'content-type': mediaType },
  });
}

describe.each(cases)('$what:', (given) => {
  test('the service makes the right table', async () => {
    const created = await create(given.file, given.formOverHttp ?? given.form, given.mediaType);
    expect(outcomeOf(created)).toBe('201');
    expect(created.headers.get('tablog-notes')).toBe(given.notes ?? null);
    await expectTable(created.json.data.tableID, given);
  });

  test('the command line makes the same table', async () => {
    const { tableID, rows } = await imported(
      pathOf(given.file),
      '--create',
      '--table',
      given.what,
      ...(given.flags ?? []),
    );
    expect(rows).toBe(given.rows.length);
    await expectTable(tableID, given);
  });
});

test('two columns with one name are refused unless the request says what to do', async () => {
  expect(outcomeOf(await create('duplicate-header.csv'))).toBe('422 column_id_not_unique');
  const { code, stderr } = await tablog(['import', pathOf('duplicate-header.csv'), '--table', 'twice']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('column_id_not_unique')]);
});

test.each([
  ['a column named n', 'column-n.json', '', [{ n: 3 }, { n: 2 }, { n: 1 }]],
  [
    'columns named c0 and c1',
    'columns-c0-and-c1.json',
    '&sort=c1',
    [
      { c1: 0, c0: 0 },
      { c1: 1, c0: 2 },
      { c1: 2, c0: 1 },
    ],
  ],
])('Parquet of %s keeps the order', async (_what, file, sort, rows) => {
  const created = await create(file, {}, 'application/json');
  const response = await fetch(`${client().url}/tables/${created.json.data.tableID}/export?format=parquet${sort}`, {
    headers: { authorization: `Bearer ${client().token}` },
  });
  expect(response.status).toBe(200);
  expect(cellsOf(await rowsOfParquet(Buffer.from(await response.arrayBuffer())))).toEqual(rows);
});

async function rowsOfParquet(content: Buffer): Promise<Record<string, unknown>[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-parquet-'));
  const instance = await DuckDBInstance.create(':memory:');
  try {
    await writeFile(join(folder, 'rows.parquet'), content);
    const connection = await instance.connect();
    const rows = (
      await connection.runAndReadAll(`SELECT * FROM '${join(folder, 'rows.parquet')}'`)
    ).getRowObjectsJson();
    connection.closeSync();
    return rows;
  } finally {
    instance.closeSync();
    await rm(folder, { recursive: true });
  }
}

test('a filter by a number that no double holds finds only its row, and SQL refuses it as a parameter', async () => {
  const created = await create('big-numbers.csv');
  const path = `/tables/${created.json.data.tableID}`;
  const found = { status: 200, json: { data: [{ id: '9007199254740993', v: 'a' }] } };
  const filterBy = (value: string): Promise<unknown> =>
    client().post(`${path}/query`, `{"filter":{"column":"id","op":"eq","value":${value}},"fields":["id","v"]}`);
  const askSql = (value: string): Promise<unknown> =>
    client().post(
      '/query',
      `{"sql":"SELECT id, v FROM \\"${created.json.data.tableID}\\" WHERE id = $1","parameters":[${value}]}`,
    );
  expect(await filterBy('9007199254740993')).toMatchObject(found);
  expect(await filterBy('"9007199254740993"')).toMatchObject(found);
  expect(await askSql('9007199254740993')).toMatchObject({
    status: 422,
    json: { error: { type: 'column_has_invalid_value' } },
  });
  expect(await askSql('"9007199254740993"')).toMatchObject(found);
});
