/** docs/spec/queries.md, "Exports": a table as a file, at one version. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBResultReader } from '@duckdb/node-api';
import { expect, test } from '@jest/globals';
import { sourceOfBlob } from '../../clients/file-import/source-of-blob.ts';
import { WorkbookCutter } from '../../clients/file-import/workbook/workbook-cutter.ts';
import { isFull, scale } from '../scale.ts';
import { useApi } from '../support/api.ts';
import { arrayOf, createTable, type MadeTable } from '../support/tables.ts';
import { outcomeOf } from '../support/client.ts';

const { client } = useApi();

/** The file as it is sent. Bypasses the client, which reads JSON. */
async function download(
  { id }: Pick<MadeTable, 'id'>,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ response: Response; text: string }> {
  const response = await fetch(`${client().url}/tables/${id}/export${query}`, {
    headers: { 'authorization': `Bearer ${client().token}`, 'accept-encoding': 'identity', ...headers },
  });
  return { response, text: await response.text() };
}

const rows = [
  {
    name: 'Ada, "the first"',
    age: 36.5,
    born: '1815-12-10',
    tags: ['maths', 'poetry'],
    more: { a: 1 },
    at: '09:30+02:00',
  },
  { name: 'two\nlines', born: '1906-12-09', more: 'text' },
  {},
];
const types = { name: 'string', age: 'number', born: 'date', tags: arrayOf('string'), more: 'json', at: 'time' };
const makeTable = (): Promise<MadeTable> => createTable(client(), rows, types);

test('CSV and TSV have a header, and the cells as they are presented', async () => {
  const table = await makeTable();
  const [a, b, c] = table.rowIds;
  const csv = await download(table, '?format=csv');
  expect(csv.text).toBe(
    [
      '$rowID,name,age,born,tags,more,at',
      `${a},"Ada, ""the first""",36.5,1815-12-10,"[""maths"",""poetry""]","{""a"":1}",09:30+02:00`,
      `${b},"two\nlines",,1906-12-09,,"""text""",`,
      `${c},,,,,,`,
      '',
    ].join('\n'),
  );
  const { headers } = csv.response;
  expect([headers.get('content-type'), headers.get('content-disposition'), headers.get('etag')]).toEqual([
    'text/csv; charset=utf-8',
    'attachment; filename=test.csv',
    `"${table.version}"`,
  ]);
  expect((await download(table, '?format=tsv&fields=age,name,$version')).text).toBe(
    [
      '$rowID\tage\tname\t$version',
      `${a}\t36.5\t"Ada, ""the first"""\t${table.version}`,
      `${b}\t\t"two\nlines"\t${table.version}`,
      `${c}\t\t\t${table.version}`,
      '',
    ].join('\n'),
  );
});

test('JSON and NDJSON have rows in the form of pages', async () => {
  const table = await makeTable();
  const { data } = (await client().get(table.path)).json;
  expect((await client().get(`/tables/${table.id}/export?format=json`)).json).toEqual(data);
  const { text, response } = await download(table, '?format=ndjson');
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(data);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
  expect(
    (
      await client().get(
        `/tables/${table.id}/export?format=json&fields=name&filter={"column":"age","op":"isEmpty"}&sort=-name`,
      )
    ).json,
  ).toEqual([{ $rowID: table.rowIds[1], name: 'two\nlines' }, { $rowID: table.rowIds[2] }]);
  const empty = await createTable(client(), [], types);
  expect([(await download(empty, '?format=json')).text, (await download(empty, '?format=ndjson')).text]).toEqual([
    '[\n]\n',
    '',
  ]);
});

/** The answer of DuckDB to SQL in which `$file` is the table as Parquet. */
async function inParquet(
  { id }: Pick<MadeTable, 'id'>,
  query: string,
  ...statements: readonly string[]
): Promise<DuckDBResultReader[]> {
  const response = await fetch(`${client().url}/tables/${id}/export?format=parquet${query}`, {
    headers: { authorization: `Bearer ${client().token}` },
  });
  const folder = await mkdtemp(join(tmpdir(), 'tablog-parquet-'));
  const instance = await DuckDBInstance.create(':memory:');
  try {
    const file = join(folder, 'rows.parquet');
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    const connection = await instance.connect();
    const results: DuckDBResultReader[] = [];
    for (const statement of statements)
      results.push(await connection.runAndReadAll(statement.replaceAll('$file', `'${file}'`)));
    connection.closeSync();
    return results;
  } finally {
    instance.closeSync();
    await rm(folder, { recursive: true });
  }
}

test('Parquet has typed columns', async () => {
  const table = await makeTable();
  const [result] = await inParquet(table, '', 'SELECT * FROM $file');
  const [id] = table.rowIds;
  expect(result!.columnNamesAndTypesJson()).toEqual({
    columnNames: ['$rowID', 'name', 'age', 'born', 'tags', 'more', 'at'],
    columnTypes: [
      expect.anything(),
      expect.anything(),
      { typeId: 11 },
      { typeId: 13 },
      expect.objectContaining({ typeId: 24 }),
      expect.anything(),
      { typeId: 14 },
    ],
  });
  expect(result!.getRowsJson()[0]).toEqual([
    id,
    rows[0]!.name,
    36.5,
    '1815-12-10',
    ['maths', 'poetry'],
    '{"a":1}',
    '07:30:00',
  ]);
});

test('timestamps of Parquet are adjusted to UTC if values of their column have zones', async () => {
  const table = await createTable(
    client(),
    [
      {
        zoned: '2024-03-01T10:00:00+02:00',
        plain: '2024-03-01T10:00:00',
        mixed: '2024-03-01',
        zones: ['2024-03-01T10:00:00', '2024-03-01T10:00:00-02'],
        plains: ['2024-03-01'],
      },
      {
        zoned: '20240301T100000Z',
        plain: '2024-03-01 10:00',
        mixed: '2024-03-01 10:00:00.5Z',
        zones: [],
        plains: ['2024-03-01T10:00:00'],
      },
      {},
    ],
    {
      zoned: 'dateTime',
      plain: 'dateTime',
      mixed: 'dateTime',
      none: 'dateTime',
      zones: arrayOf('dateTime'),
      plains: arrayOf('dateTime'),
    },
  );
  const [schema, values] = await inParquet(
    table,
    '&filter={"column":"zoned","op":"isNotEmpty"}',
    `
    SELECT name, logical_type LIKE '%isAdjustedToUTC=1%' FROM parquet_schema($file)
    WHERE logical_type LIKE '%Timestamp%'
  `,
    'SELECT epoch_us(zoned), epoch_us(plain), epoch_us(mixed), list_transform(zones, lambda t: epoch_us(t)) FROM $file',
  );
  expect(schema!.getRowsJson()).toEqual([
    ['zoned', true],
    ['plain', false],
    ['mixed', true],
    ['none', false],
    ['element', true],
    ['element', false],
  ]);
  const at = (hour: number): string => String(Date.UTC(2024, 2, 1, hour) * 1000);
  expect(values!.getRowsJson()).toEqual([
    [at(8), at(10), at(0), [at(10), at(12)]],
    [at(10), at(10), String(Date.UTC(2024, 2, 1, 10, 0, 0, 500) * 1000), []],
  ]);
});

test('names of columns never collide with names that the engine uses itself', async () => {
  const names = [
    'n',
    'N',
    'c0',
    'c1',
    'c2',
    'C1',
    'o0',
    'o1',
    'o2',
    'row_id',
    'row_version',
    'body',
    'since',
    'until',
    'version',
    'ordinal',
    'index',
    'rows',
    'rows_1',
    'sorted1',
    'main',
    'beside',
    'cells',
    'place',
    'item',
    't',
    'q',
    'w0',
    '_p0',
    'n_1',
    'n_2',
    'data',
    'tree',
    'select',
    'order',
    'null',
    'user',
    'current_date',
    'a"b',
    "it's",
    'ä',
    'Ä',
    '*',
    '$1',
    'rowID',
    '__6e_',
  ];
  // Each column has another order. No row has its own place as a number.
  const cell = (row: number, column: number): number => (row * 5 + column * 3) % 47;
  const made = Array.from({ length: 8 }, (_, row) =>
    Object.fromEntries(names.map((name, column) => [name, cell(row, column)])),
  );
  const table = await createTable(client(), made, Object.fromEntries(names.map((name) => [name, 'number'])));
  const path = `/tables/${table.id}`;
  const asParameter = (value: unknown): string => encodeURIComponent(JSON.stringify(value));
  const order = (column: number): number[] =>
    made.map((_, row) => row).toSorted((a, b) => cell(a, column) - cell(b, column));
  expect((await inParquet(table, '', 'SELECT * FROM $file'))[0]!.getRowsJson()).toEqual(
    made.map((row, at) => [table.rowIds[at], ...Object.values(row)]),
  );
  const found: unknown[] = [];
  const expected: unknown[] = [];
  for (const [column, name] of names.entries()) {
    const sorted = order(column);
    const ids = sorted.map((row) => table.rowIds[row]);
    const filter = { column: name, op: 'gt', value: cell(sorted[0]!, column) };
    const query = `filter=${asParameter(filter)}&sort=${asParameter([name])}`;
    const [parquet] = await inParquet(table, `&${query}`, 'SELECT * FROM $file');
    found.push([name, parquet!.getRowsJson().map(([id]) => id)]);
    expected.push([name, ids.slice(1)]);
    // The SQL of the engine for these has no name of a client, whatever it is.
    if (column % 8 > 0) continue;
    const rest = sorted.slice(1);
    const alias = name === 'n' ? 'c0' : 'n';
    const groups = (
      await client().post(`${path}/query`, {
        filter,
        groupBy: [name],
        aggregate: [{ op: 'sum', column: name, as: alias }],
        sort: [`-${name}`],
      })
    ).json.data;
    const ndjson = (await download(table, `?format=ndjson&${query}&fields=${asParameter([name])}`)).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    const page = (await client().get(`${path}/rows?${query}`)).json.data as { $rowID: string }[];
    found.push([ndjson, page.map(({ $rowID }) => $rowID), groups]);
    expected.push([
      rest.map((row) => ({ $rowID: table.rowIds[row], [name]: cell(row, column) })),
      ids.slice(1),
      rest.toReversed().map((row) => ({ [name]: cell(row, column), [alias]: cell(row, column) })),
    ]);
  }
  expect(found).toEqual(expected);
  for (const [format, delimiter] of [
    ['csv', ','],
    ['tsv', '\t'],
  ] as const) {
    const lines = (await download(table, `?format=${format}&sort=c1`)).text.trimEnd().split('\n');
    expect(lines.slice(1).map((line) => line.split(delimiter)[0])).toEqual(
      order(names.indexOf('c1')).map((row) => table.rowIds[row]),
    );
  }
});

test('if names of columns differ only by case, Parquet adds numbers to them that make new names', async () => {
  const table = await createTable(client(), [{ a: 1, A: 2, A_1: 3, ä: 4, Ä: 5 }], {
    a: 'number',
    A: 'number',
    A_1: 'number',
    ä: 'number',
    Ä: 'number',
  });
  const [result] = await inParquet(table, '', 'SELECT * FROM $file');
  expect(result!.columnNames()).toEqual(['$rowID', 'a', 'A_2', 'A_1', 'ä', 'Ä_1']);
});

/** The table as a workbook: its bytes, and its rows as the command line reads them. */
async function asWorkbook(
  { id }: Pick<MadeTable, 'id'>,
  query = '',
): Promise<{ bytes: Buffer<ArrayBuffer>; csv: string }> {
  const response = await fetch(`${client().url}/tables/${id}/export?format=xlsx${query}`, {
    headers: { authorization: `Bearer ${client().token}` },
  });
  expect([response.status, response.headers.get('content-type'), response.headers.get('content-encoding')]).toEqual([
    200,
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    null,
  ]);
  const bytes = Buffer.from(await response.arrayBuffer());
  const chunks = await Array.fromAsync(
    new WorkbookCutter({ sheet: null, limits: { rows: 2e6, bytes: 1e9 } }).cut(
      sourceOfBlob(new File([bytes], 'rows.xlsx')),
      new AbortController().signal,
    ),
  );
  return { bytes, csv: chunks.map(({ body }) => body.toString()).join('') };
}

test('a workbook has numbers, moments and truth values, and texts for types that Excel lacks', async () => {
  const cells = [
    {
      text: '=1+1',
      number: -0.1,
      yes: true,
      day: '2024-02-29',
      at: '2024-02-29T10:00:00',
      time: '09:30',
      json: 'x',
      list: [1, 'a'],
    },
    {
      text: 'a\u0001_x0041_\r\n<&>\ud83d\ude00',
      number: 4.2,
      yes: false,
      day: '1900-01-01',
      at: '2024-02-29T10:00:00.250+02:00',
      time: '09:30+01:00',
      json: { a: 1 },
      list: [],
    },
    { text: ' "quoted", ', number: 1e-320, day: '1899-12-31', at: '1969-12-31T23:59:59Z', time: '23:59:59.5' },
    { day: '9999-12-31', at: '2024-02-29T10:00:00.000001', number: 0.1234567890123456789 },
    {},
  ];
  const body = `[${cells
    .map((cell) => JSON.stringify(cell))
    .join(',')
    .replace('0.12345678901234568', '0.1234567890123456789')
    .replace('"number":4.2,', '"number":4.20,')}]`;
  const types = {
    text: 'string',
    number: 'number',
    yes: 'boolean',
    day: 'date',
    at: 'dateTime',
    time: 'time',
    json: 'json',
    list: 'json',
  };
  const table = await createTable(client(), [], types);
  const added = (await client().post(`/tables/${table.id}/rows`, body)).json.data.rowIDs as string[];
  const { bytes, csv } = await asWorkbook(table);
  expect(csv).toBe(
    [
      '$rowID,text,number,yes,day,at,time,json,list',
      `${added[0]},"=1+1",-0.1,true,2024-02-29,2024-02-29T10:00:00,09:30:00,"""x""","[1,""a""]"`,
      `${added[1]},"a\u0001_x0041_\r\n<&>😀",4.2,false,1900-01-01,2024-02-29T08:00:00.250,09:30+01:00,"{""a"":1}",[]`,
      `${added[2]}," ""quoted"", ",1e-320,,1899-12-31,1969-12-31T23:59:59,23:59:59.500,,`,
      `${added[3]},,0.12345678901234568,,9999-12-31,2024-02-29T10:00:00.000001,,,`.replace(
        '0.12345678901234568',
        '0.1234567890123456789',
      ),
      `${added[4]},,,,,,,,`,
      '',
    ].join('\n'),
  );
  // An ETag promises the same bytes.
  expect((await asWorkbook(table)).bytes.equals(bytes)).toBe(true);
  expect(
    (await asWorkbook(table, '&fields=number&sort=-number&filter={"column":"number","op":"gt","value":0.1}')).csv,
  ).toBe(['$rowID,number', `${added[1]},4.2`, `${added[3]},0.1234567890123456789`, ''].join('\n'));
  const none = await createTable(client(), [], { '=x': 'number' });
  expect((await asWorkbook(none)).csv).toBe('$rowID,"=x"\n');
});

test('a workbook of many rows is complete, and one with more rows than a sheet holds is refused', async () => {
  const table = await createTable(client(), [], { n: 'number', text: 'string' });
  const added: string[] = [];
  const add = async (count: number): Promise<void> => {
    const more = Array.from({ length: count }, (_, n) => ({ n: added.length + n, text: `row ${n}` }));
    for (const id of (await client().post(`/tables/${table.id}/rows`, more)).json.data.rowIDs as string[])
      added.push(id);
  };
  while (added.length < scale.sheetRows) await add(Math.min(20_000, scale.sheetRows - added.length));
  const lines = (await asWorkbook(table)).csv.split('\n');
  expect([lines.length, lines[0], lines[1], lines.at(-2)]).toEqual([
    scale.sheetRows + 2,
    '$rowID,n,text',
    `${added[0]},0,"row 0"`,
    expect.stringMatching(new RegExp(`^${added.at(-1)},${scale.sheetRows - 1},`)),
  ]);
  expect(lines.slice(1, -1).findIndex((line, n) => !line.startsWith(`${added[n]},${n},`))).toBe(-1);
  if (!isFull) return;
  await add(1);
  expect(outcomeOf(await client().get(`/tables/${table.id}/export?format=xlsx`))).toBe('400 limit_exceeded');
  await asWorkbook(table, '&filter={"column":"n","op":"gt","value":1000000}');
});

test('a text that no cell of a sheet can hold is refused before the first byte', async () => {
  const [fits, long] = ['é'.repeat(32_767), '\n'.repeat(32_768)];
  const table = await createTable(
    client(),
    [
      { text: fits, n: 1 },
      { text: long, n: 2 },
    ],
    { text: 'string', n: 'number' },
  );
  const refused = await client().get(`/tables/${table.id}/export?format=xlsx`);
  expect([outcomeOf(refused), refused.json.error.message]).toEqual([
    '400 limit_exceeded',
    expect.stringContaining(`32767 characters, but column "text" has more in the row ${table.rowIds[1]}`),
  ]);
  expect((await asWorkbook(table, '&fields=n')).csv).toContain(`${table.rowIds[1]},2\n`);
  expect((await asWorkbook(table, '&filter={"column":"n","op":"eq","value":1}')).csv).toBe(
    `$rowID,text,n\n${table.rowIds[0]},${fits},1\n`,
  );
});

test('CSV for Excel has no formulas, and any CSV has the requested delimiter', async () => {
  const texts = [
    '=1+1',
    '+cmd|x',
    '-2+3',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '＝1',
    '-5',
    '+1.5e3',
    '-.5',
    'a=1',
    ' =1',
    'x;y',
    '"q"',
    '',
    '2024-01-01',
  ];
  const table = await createTable(
    client(),
    texts.map((text, n) => ({ '=text': text, 'n': -n })),
    { '=text': 'string', 'n': 'number' },
  );
  const shown = [
    `"'=1+1"`,
    `"'+cmd|x"`,
    `"'-2+3"`,
    `"'@SUM(A1)"`,
    `"'\t=1"`,
    `"'\r=1"`,
    `"'＝1"`,
    '-5',
    '+1.5e3',
    '-.5',
    'a=1',
    '" =1"',
    '"x;y"',
    '"""q"""',
    '',
    '2024-01-01',
  ];
  const response = await fetch(`${client().url}/tables/${table.id}/export?format=csv&excel=true&delimiter=%3B`, {
    headers: { authorization: `Bearer ${client().token}` },
  });
  expect(Buffer.from(await response.arrayBuffer()).toString()).toBe(
    `\ufeff$rowID;"'=text";n\n${shown.map((text, n) => `${table.rowIds[n]};${text};${n === 0 ? 0 : -n}\n`).join('')}`,
  );
  expect(
    (await download(table, '?format=csv&delimiter=|&fields=n&sort=n&excel=false')).text.split('\n').slice(0, 2),
  ).toEqual(['$rowID|n', `${table.rowIds[15]}|-15`]);
  expect((await download(table, '?delimiter=tab', { accept: 'text/csv' })).text).toBe(
    (await download(table, '?format=tsv')).text,
  );
  for (const query of [
    '?format=json&excel=true',
    '?format=tsv&delimiter=tab',
    '?excel=yes',
    '?delimiter=x',
    '?delimiter=',
  ]) {
    expect([query, outcomeOf(await client().get(`/tables/${table.id}/export${query}`))]).toEqual([
      query,
      '400 request_validation_error',
    ]);
  }
});

test('an export shows one version, complete and in order, even if rows are changed while it is read', async () => {
  // Some rows are long, so that slices have different sizes.
  const numbers = Array.from({ length: 20_000 }, (_, n) => ({
    n,
    text: n % 1000 === 7 ? 'long'.repeat(20_000) : 'short',
  }));
  const table = await createTable(client(), numbers, { n: 'number', text: 'string' });
  for (let at = 0; at < 20_000; at += 400) await client().patch(`${table.path}/${table.rowIds[at]}`, { n: -at });
  await client().delete(`${table.path}/${table.rowIds[1]}`);
  const expected = numbers.map(({ n }) => (n % 400 === 0 ? 0 - n : n)).filter((n) => n !== 1);

  const response = await fetch(`${client().url}/tables/${table.id}/export?format=ndjson`, {
    headers: { 'authorization': `Bearer ${client().token}`, 'accept-encoding': 'gzip' },
  });
  expect(response.headers.get('content-encoding')).toBe('gzip');
  for (let at = 2; at < 20_000; at += 1000) await client().patch(`${table.path}/${table.rowIds[at]}`, { n: 0 });
  const read = (text: string): { n: number; text: string }[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { n: number; text: string });
  const found = read(await response.text());
  expect(found.map(({ n }) => n)).toEqual(expected);
  expect(found.filter(({ text }) => text.length > 5)).toHaveLength(20);

  const sorted = read(
    (await download(table, '?format=ndjson&sort=-n&filter={"column":"n","op":"ne","value":5}')).text,
  ).map(({ n }) => n);
  expect(sorted).toEqual(
    expected
      .filter((n) => n !== 5 && !(n > 1 && n % 1000 === 2))
      .concat(Array<number>(20).fill(0))
      .toSorted((a, b) => b - a),
  );
});

test('an invalid export is refused, and a client that has the version gets 304', async () => {
  const table = await makeTable();
  const path = `/tables/${table.id}/export`;
  const outcomes: string[] = [];
  for (const query of ['?format=xls', '?filter=x', '?fields=size', '?sort=size', '?count=exact', '?limit=1'])
    outcomes.push(outcomeOf(await client().get(path + query)));
  expect(outcomes).toEqual([
    '400 request_validation_error',
    '400 request_validation_error',
    '422 column_id_not_found',
    '422 column_id_not_found',
    '400 request_validation_error',
    '400 request_validation_error',
  ]);
  const known = { 'if-none-match': `"${table.version}"` };
  for (const query of ['', '?fields=age', '?filter={"column":"age","op":"gt","value":1}', '?filter=&sort=&fields='])
    expect((await download(table, query, known)).response.status).toBe(304);
  for (const [query, status] of [
    ['?filter=1', 400],
    ['?fields=nope', 422],
    ['?sort=tags', 400],
    ['?filter={"column":"age","op":"eq","value":"x"}', 422],
  ] as const) {
    expect([query, (await download(table, query, known)).response.status]).toEqual([query, status]);
  }
  await client().delete(`/tables/${table.id}`);
  expect(outcomeOf(await client().get(path))).toBe('404 table_not_found');
});

test.each<readonly [query: string, accept: string, type: string | null]>([
  ['', '*/*', 'text/csv; charset=utf-8'],
  ['', 'application/json', 'application/json; charset=utf-8'],
  ['', 'application/x-ndjson, text/csv;q=0.5', 'application/x-ndjson; charset=utf-8'],
  ['', 'application/vnd.apache.parquet', 'application/vnd.apache.parquet'],
  ['?format=xlsx', '*/*', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['?format=tsv', 'text/html', 'text/tab-separated-values; charset=utf-8'],
  ['', 'text/html', null],
])('export%s with Accept: %s is %s', async (query, accept, type) => {
  const { response } = await download(await makeTable(), query, { accept });
  expect([response.status, response.headers.get('content-type')]).toEqual(
    type === null ? [406, 'application/json; charset=utf-8'] : [200, type],
  );
  if (type !== null) expect(response.headers.get('vary')).toBe('Accept, Accept-Encoding, Authorization');
});
