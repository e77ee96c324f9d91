/**
 * CSV, TSV and NDJSON bodies (spec 4.2, decisions 2, 3 and 6): the tables that are created from them, and malformed
 * bodies of all requests.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { csv, ndjson, tsv } from '../support/media-types.ts';
import { newStashId } from '../support/stashes.ts';
import { arrayOf, cellsOf, createTable, leavingUnchanged, unknownTableId } from '../support/tables.ts';

const { client } = useApi();
const malformed = '400 request_validation_error';

const create = (body: string | Uint8Array, query = 'name=n', headers: Record<string, string> = csv): Promise<Answer> =>
  client().post(`/tables?${query}`, body, headers);

async function rowsOf(answer: Answer): Promise<Record<string, unknown>[]> {
  expect(outcomeOf(answer)).toBe('201');
  const rows = await client().rows(answer.json.data.tableID);
  expect(rows.map((row) => row['$rowID'])).toEqual(answer.json.data.rowIDs);
  return cellsOf(rows);
}

async function typesOf(answer: Answer): Promise<Record<string, unknown>> {
  const { columns } = (await client().get(`/tables/${answer.json.data.tableID}`)).json.data.schema;
  return Object.fromEntries(columns.map(({ id, type }: { id: string; type: unknown }) => [id, type]));
}

/** The first three columns of a table after the row ID, as a reader of Parquet sees them. */
async function parquetOf(tableId: string): Promise<unknown[]> {
  const response = await fetch(`${client().url}/tables/${tableId}/export?format=parquet&fields=Land,Betrag,Tag`, {
    headers: { authorization: `Bearer ${client().token}` },
  });
  const folder = await mkdtemp(join(tmpdir(), 'tablog-parquet-'));
  const instance = await DuckDBInstance.create(':memory:');
  try {
    await writeFile(join(folder, 'rows.parquet'), Buffer.from(await response.arrayBuffer()));
    const connection = await instance.connect();
    const { columnNames } = (
      await connection.runAndReadAll(`SELECT * FROM '${join(folder, 'rows.parquet')}'`)
    ).columnNamesAndTypesJson() as { columnNames: string[] };
    expect(columnNames).toEqual(['$rowID', 'Land', 'Betrag', 'Tag']);
    const result = await connection.runAndReadAll(`SELECT Land, Betrag, Tag FROM '${join(folder, 'rows.parquet')}'`);
    connection.closeSync();
    return result.getRowsJson();
  } finally {
    instance.closeSync();
    await rm(folder, { recursive: true });
  }
}

describe('creating a table', () => {
  test.each<[string, string, Record<string, string>, Record<string, unknown>[]]>([
    [
      'of CSV',
      'id,name\n1,Ada\n2,"Bo, Jr."\n',
      csv,
      [
        { id: 1, name: 'Ada' },
        { id: 2, name: 'Bo, Jr.' },
      ],
    ],
    [
      'of TSV',
      'id\tname\r\n1\tAda\r\n2\t"Bo\tJr."',
      tsv,
      [
        { id: 1, name: 'Ada' },
        { id: 2, name: 'Bo\tJr.' },
      ],
    ],
    ['with a charset', 'é\nü\n', { 'content-type': 'text/csv; charset=UTF-8' }, [{ é: 'ü' }]],
    ['in capitals', 'a\n1\n', { 'content-type': 'Text/CSV;header=present' }, [{ a: 1 }]],
    ['with a byte order mark', '\ufeffa\n1\n', csv, [{ a: 1 }]],
    ['with identities that are ignored', '$rowID,a\nx,1\nAAAAAAAAAAEAAAAAAAAAAA,2\n', csv, [{ a: 1 }, { a: 2 }]],
    ['with empty cells', 'a,b\n,\n"",x\ny\n', csv, [{}, { b: 'x' }, { a: 'y' }]],
    ['with blank lines', '\na\n\nx\n\n\n', csv, [{ a: 'x' }]],
    [
      'of every natural type',
      'n,b,d,t,s,z,l\n-1.50,TRUE,2024-02-29,2024-02-29T10:00Z,[1],007,1234567890123456\n 2 ,false,2024-03-01,2024-03-01,{},1,1\n',
      csv,
      [
        { n: -1.5, b: true, d: '2024-02-29', t: '2024-02-29T10:00Z', s: '[1]', z: '007', l: '1234567890123456' },
        { n: 2, b: false, d: '2024-03-01', t: '2024-03-01', s: '{}', z: '1', l: '1' },
      ],
    ],
    [
      'of texts that are nearly something',
      'a,b,c\n4.20,TRUE,12:30\nx,1,null\n',
      csv,
      [
        { a: '4.20', b: 'TRUE', c: '12:30' },
        { a: 'x', b: '1', c: 'null' },
      ],
    ],
    [
      'of odd columns',
      '10,__proto__,constructor, a \n1,2,3,4\n',
      csv,
      [JSON.parse('{"10":1,"__proto__":2,"constructor":3," a ":4}')],
    ],
  ])('a table is created %s', async (_name, body, headers, rows) =>
    expect(await rowsOf(await create(body, 'name=n', headers))).toEqual(rows),
  );

  test.each<[string, string, Record<string, unknown>[], string | null]>([
    [
      'first, as pandas writes its index',
      ',name,age\n0,Ada,36\n1,Bo,\n',
      [
        { column_1: 0, name: 'Ada', age: 36 },
        { column_1: 1, name: 'Bo' },
      ],
      'column_1: had no name',
    ],
    [
      'first, as R writes it',
      '"","speed","dist"\n"1",4,2\n',
      [{ column_1: 1, speed: 4, dist: 2 }],
      'column_1: had no name',
    ],
    [
      'last, without a value',
      'a,b,c,\n1,2,3,\n',
      [{ a: 1, b: 2, c: 3 }],
      'column_4: had no name and no values, and was left out',
    ],
    ['none', 'a\n1\n', [{ a: 1 }], null],
  ])('with a column that has no name: %s', async (_name, body, rows, notes) => {
    const created = await create(body);
    expect([await rowsOf(created), created.headers.get('tablog-notes')]).toEqual([rows, notes]);
    const path = `/tables/${created.json.data.tableID}`;
    const [added, overwritten] = [await client().post(`${path}/rows`, body, csv), await client().put(path, body, csv)];
    expect([added, overwritten].map((answer) => [answer.status, answer.headers.get('tablog-notes')])).toEqual([
      [201, notes],
      [200, notes],
    ]);
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual(rows);
  });

  test.each<[string, string, string, Record<string, string>, Record<string, unknown>[]]>([
    [
      'that has no header',
      'x,1\ny,2\n',
      'header=absent',
      csv,
      [
        { column_1: 'x', column_2: 1 },
        { column_1: 'y', column_2: 2 },
      ],
    ],
    [
      'that has no header, as its media type says',
      'x\n',
      '',
      { 'content-type': 'text/csv; header=absent' },
      [{ column_1: 'x' }],
    ],
    [
      'whose columns go elsewhere',
      'Full name,n\nx,1\n',
      `columns=${encodeURIComponent('{"Full name":"name"}')}`,
      csv,
      [{ name: 'x', n: 1 }],
    ],
    ['whose delimiter was named', 'a,b\tc\n1\t2\n', 'delimiter=tab', csv, [{ 'a,b': 1, 'c': 2 }]],
    [
      'whose marks were named',
      "# x\na;b\n1;'x;\\'y'\n",
      `delimiter=${encodeURIComponent(';')}&quote='&escape=${encodeURIComponent('\\')}&comment=${encodeURIComponent('#')}`,
      csv,
      [{ a: 1, b: "x;'y" }],
    ],
    ['that has no quotes', 'a\n"\n', 'quote=none', csv, [{ a: '"' }]],
    ['with an inch mark', 'name,size\nblue,6 x 5"\n', 'lenient=true', csv, [{ name: 'blue', size: '6 x 5"' }]],
    [
      'with lines before the header',
      'Station report\nMade 2024-01-01\n\nyear,mean\n1959,315.98\n',
      'skipLines=3',
      csv,
      [{ year: 1959, mean: 315.98 }],
    ],
    [
      'with blanks before quotes',
      '"Index", "Item"\n1, "Sunscreen, 8 oz"\n',
      '',
      csv,
      [{ Index: 1, Item: 'Sunscreen, 8 oz' }],
    ],
    [
      'that names its delimiter, in NFD, with carriage returns and Ctrl-Z',
      'sep=;\re\u0301;b\r1;x\r\u001a',
      '',
      csv,
      [{ '\u00e9': 1, 'b': 'x' }],
    ],
    [
      'whose column has a name of objects',
      '__proto__,n\nx,1e5\n',
      `columns=${encodeURIComponent('{"__proto__":"p"}')}&types=${encodeURIComponent('{"__proto__":"json","n":"string"}')}`,
      csv,
      [{ p: 'x', n: '1e5' }],
    ],
    [
      'that names a column twice',
      'id,name,name\n1,x,y\n',
      'duplicateColumns=rename',
      csv,
      [{ id: 1, name: 'x', name_2: 'y' }],
    ],
  ])('a table is created of CSV %s', async (_name, body, query, headers, rows) => {
    const created = await create(body, `name=n&${query}`, headers);
    expect(await rowsOf(created)).toEqual(rows);
    const path = `/tables/${created.json.data.tableID}`;
    expect([
      outcomeOf(await client().post(`${path}/rows?${query}`, body, headers)),
      outcomeOf(await client().put(`${path}?${query}`, body, headers)),
    ]).toEqual(['201', '200']);
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual(rows);
  });

  test.each([
    ['null=', 'a\n', csv, 'query.null: must not be empty'],
    [`null=${'x'.repeat(257)}`, 'a\n', csv, 'query.null'],
    ['decimal=;', 'a\n', csv, 'query.decimal: '],
    ['dateFormat=y-m-d', 'a\n', csv, 'query.dateFormat: '],
    ['types={"a":"text"}', 'a\n', csv, 'query.types: a: must be a type'],
    ['decimal=,', '[{"a":1}]', { 'content-type': 'application/json' }, 'query.decimal: applies to CSV and TSV only.'],
    ['header=no', 'a\n', csv, 'query.header: '],
    ['columns=[]', 'a\n', csv, 'query.columns: '],
    ['columns={"a":1}', 'a\n', csv, 'query.columns: a: '],
    ['duplicateColumns=refuse', 'a\n', csv, 'query.duplicateColumns: must be "rename"'],
    ['delimiter=,,', 'a\n', csv, 'query.delimiter: must be one character, or tab'],
    ['quote=no', 'a\n', csv, 'query.quote: must be one character, or none'],
    ['escape=', 'a\n', csv, 'query.escape: must be one character'],
    ['comment=%0A', 'a\n', csv, 'query.comment: must be one character'],
    ['lenient=yes', 'a\n', csv, 'query.lenient: '],
    ['skipLines=-1', 'a\n', csv, 'query.skipLines: must be a whole number'],
    ['skipLines=1000001', 'a\n', csv, 'query.skipLines: must be at most 1000000'],
    ['quote=,', 'a\n', csv, 'query.quote: must not be the delimiter too.'],
    ['quote=none&escape=/', 'a\n', csv, 'query.escape: applies within quotes, and quote is none.'],
    [
      'delimiter=tab',
      '[{"a":1}]',
      { 'content-type': 'application/json' },
      'query.delimiter: applies to CSV and TSV only.',
    ],
    [
      'header=absent',
      '[{"a":1}]',
      { 'content-type': 'application/json' },
      'query.header: applies to CSV and TSV only.',
    ],
    ['', 'a\n', { 'content-type': 'text/csv; header=no' }, 'Content-Type: header must be present or absent.'],
  ])('the form %s of a body %j is refused', async (query, body, headers, message) => {
    const answer = await create(body, `name=n&${query}`, headers);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([malformed, expect.stringContaining(message)]);
  });

  test('a table is created from numbers and moments as people write them', async () => {
    expect(await rowsOf(await create('a,b\n.5,5.\n-.25,+3\n'))).toEqual([
      { a: 0.5, b: 5 },
      { a: -0.25, b: 3 },
    ]);
    const moments = await create('at\n2024-03-01 10:00:00\n2024-03-02 11:30:00\n');
    expect(await rowsOf(moments)).toEqual([{ at: '2024-03-01 10:00:00' }, { at: '2024-03-02 11:30:00' }]);
    expect(await typesOf(moments)).toEqual({ at: 'dateTime' });
  });

  test('cells with texts that mean empty are empty', async () => {
    const created = await create('id,age,score\n1,NA,NULL\n2,35,4.5\n', 'name=n&null=NA,NULL');
    expect(await rowsOf(created)).toEqual([{ id: 1 }, { id: 2, age: 35, score: 4.5 }]);
    expect(await typesOf(created)).toEqual({ id: 'number', age: 'number', score: 'number' });
    expect(await rowsOf(await create('a,b\n"NA",-\n', 'name=n&null=NA&null=-'))).toEqual([{ a: 'NA' }]);
  });

  test('if the types of columns are inferred, the answer names the columns that became text because of some cells', async () => {
    const body = 'age,n\n1,1\nNA,2\n3,x\n';
    const notes =
      'age: text because of 1 of 3 cells, such as NA in row 2 - null=NA would help; n: text because of 1 of 3 cells, such as x in row 3';
    const created = await create(body);
    expect(
      [created, await client().put('/stashes/texts/1', body, csv)].map((answer) => answer.headers.get('tablog-notes')),
    ).toEqual([notes, notes]);
    const path = `/tables/${created.json.data.tableID}/rows`;
    const added = [
      await client().post(path, body, csv),
      await client().post(
        `${path}?onSchemaError=updateSchema`,
        `new,${body.replaceAll('\n', '\n1,')}`.slice(0, -2),
        csv,
      ),
    ];
    expect(added.map((answer) => [answer.status, answer.headers.get('tablog-notes')])).toEqual([
      [201, null],
      [201, null],
    ]);
    const other = await client().post(`${path}?onSchemaError=updateSchema`, 'other,age\n1,1\n2,2\n-,3\n', csv);
    expect(other.headers.get('tablog-notes')).toBe(
      'other: text because of 1 of 3 cells, such as - in row 3 - null=- would help',
    );
  });

  test('columns have the types that the request says', async () => {
    const types = encodeURIComponent(
      JSON.stringify({
        zip: 'string',
        site: { kind: 'array', items: { kind: 'url' } },
        none: 'date',
        absent: 'number',
      }),
    );
    const created = await create('zip,n,site,none\n8001,1,"[""a:b""]",\n', `name=n&types=${types}`);
    expect(await rowsOf(created)).toEqual([{ zip: '8001', n: 1, site: ['a:b'] }]);
    expect(await typesOf(created)).toEqual({ zip: 'string', n: 'number', site: arrayOf('uri'), none: 'date' });
    const path = `/tables/${created.json.data.tableID}/rows`;
    const misfit = await create('a\n1\nx\n', `name=n&types=${encodeURIComponent('{"a":"number"}')}`);
    expect([outcomeOf(misfit), misfit.json.error.message]).toEqual([
      '422 column_has_invalid_value',
      'rows[1].a: "x" does not fit the column\'s type number',
    ]);
    const other = await client().post(
      `${path}?onSchemaError=updateSchema&types=${encodeURIComponent('{"zip":"number"}')}`,
      'zip\n1\n',
      csv,
    );
    expect([outcomeOf(other), other.json.error.message]).toEqual([
      '422 column_has_invalid_value',
      'rows[0].zip: the request says that the column has the type number, but it has the type string',
    ]);
    expect(
      outcomeOf(
        await client().post(
          `${path}?onSchemaError=updateSchema&types=${encodeURIComponent('{"new":"string"}')}`,
          'new\n1\n',
          csv,
        ),
      ),
    ).toBe('201');
    expect(cellsOf(await client().rows(created.json.data.tableID))[1]).toEqual({ new: '1' });
  });

  describe('a cell that does not fit the type in the request', () => {
    const said = encodeURIComponent('{"a":"number","tags":{"kind":"array","items":{"kind":"string"}}}');
    const cells = 'a,tags\n1,x\n2,"[""y"",""z""]"\n';
    const wrapped = [
      { a: 1, tags: ['x'] },
      { a: 2, tags: ['y', 'z'] },
    ];

    test.each(['abort', 'dropColumns', 'updateSchema'])(
      'under %s a value of the item type becomes an array of one',
      async (mode) => {
        const created = await create(cells, `name=t&onSchemaError=${mode}&types=${said}`);
        expect(await rowsOf(created)).toEqual(wrapped);
      },
    );

    test.each([
      { mode: 'abort', outcome: '422 column_has_invalid_value', rows: null },
      { mode: 'updateSchema', outcome: '422 column_has_invalid_value', rows: null },
      { mode: 'dropColumns', outcome: '201', rows: [{ tags: ['x'] }] },
    ])('$mode: any other misfit is $outcome', async ({ mode, outcome, rows }) => {
      const created = await create('a,tags\nno,x\n', `name=t&onSchemaError=${mode}&types=${said}`);
      expect(outcomeOf(created)).toBe(outcome);
      if (rows !== null) expect(await rowsOf(created)).toEqual(rows);
    });

    test('is treated alike in a new column of an existing table', async () => {
      const created = await create('b\n1\n', 'name=t');
      const path = `/tables/${created.json.data.tableID}/rows?onSchemaError=updateSchema&types=${said}`;
      expect(outcomeOf(await client().post(path, 'a\nno\n', csv))).toBe('422 column_has_invalid_value');
      expect(outcomeOf(await client().post(path, cells, csv))).toBe('201');
      expect(cellsOf(await client().rows(created.json.data.tableID)).slice(1)).toEqual(wrapped);
    });
  });

  test('a file with semicolons, a decimal comma and the day first is read as the request says', async () => {
    const created = await create(
      'Land;Betrag;Tag\nCH;1.234,50;31.12.2024\n',
      'name=n&delimiter=;&decimal=,&dateFormat=d.m.y',
    );
    expect(await rowsOf(created)).toEqual([{ Land: 'CH', Betrag: 1234.5, Tag: '2024-12-31' }]);
    expect(await typesOf(created)).toEqual({ Land: 'string', Betrag: 'number', Tag: 'date' });
  });

  // If there are more rows than a tail takes, reads use the rows as received.
  test.each([1, 600])(
    'a file of %i rows keeps the forms of its numbers and dates, and every answer shows them as the interface does',
    async (count) => {
      const land = (at: number): string => `L${String(at).padStart(4, '0')}`;
      const lines = Array.from(
        { length: count },
        (_, at) => `"${land(at)}","1.234,5${at}1","31.12.2024","1.2.2024 9:05","1.000"`,
      );
      const body = [
        'Land,Betrag,Tag,Zeit,Text',
        ...lines,
        `"${land(count)}","-0,5","1.1.2025","2024-02-03T10:00:00Z","x"`,
        '',
      ].join('\n');
      const created = await create(body, 'name=n&decimal=,&dateFormat=d.m.y');
      const rows = await rowsOf(created);
      const { tableID, rowIDs } = created.json.data;
      const expected = [
        ...Array.from({ length: count }, (_, at) => ({
          Land: land(at),
          Betrag: Number(`1234.5${at}1`),
          Tag: '2024-12-31',
          Zeit: '2024-02-01T09:05',
          Text: '1.000',
        })),
        { Land: land(count), Betrag: -0.5, Tag: '2025-01-01', Zeit: '2024-02-03T10:00:00Z', Text: 'x' },
      ];
      expect(rows).toEqual(expected);
      expect(await typesOf(created)).toEqual({
        Land: 'string',
        Betrag: 'number',
        Tag: 'date',
        Zeit: 'dateTime',
        Text: 'string',
      });
      const path = `/tables/${tableID}`;
      expect((await client().get(`${path}/rows/${rowIDs[0]}`)).json.data).toMatchObject(expected[0]!);
      const asked = async (query: string): Promise<unknown> =>
        cellsOf((await client().get(`${path}/rows?${query}`)).json.data);
      expect(await asked(`filter=${encodeURIComponent('{"column":"Betrag","op":"lt","value":0}')}`)).toEqual(
        expected.slice(-1),
      );
      expect(await asked(`filter=${encodeURIComponent('{"column":"Tag","op":"gte","value":"2025-01-01"}')}`)).toEqual(
        expected.slice(-1),
      );
      expect(await asked('sort=Betrag&limit=1')).toEqual(expected.slice(-1));
      expect(await asked('sort=-Tag&limit=1')).toEqual(expected.slice(-1));
      const sql = `SELECT Betrag, Tag, Zeit, Text FROM "${tableID}" WHERE Betrag < 0 AND year(Tag) = 2025`;
      expect((await client().post('/query', { sql })).json.data).toMatchObject([
        { Betrag: -0.5, Tag: '2025-01-01', Text: 'x' },
      ]);
      const header = 'Land,Betrag,Tag,Zeit,Text';
      const cells = expected.map(({ Land, Betrag, Tag, Zeit, Text }) => [Land, Betrag, Tag, Zeit, Text]);
      const exported = (await client().get(`${path}/export?format=csv`)).text;
      expect(exported.split('\n').map((line) => line.slice(line.indexOf(',') + 1))).toEqual([
        header,
        ...cells.map(String),
        '',
      ]);
      expect(await parquetOf(tableID)).toMatchObject(cells.map(([name, betrag, tag]) => [name, betrag, tag]));

      const patched = await client().patch(`${path}/rows/${rowIDs[0]}`, { Text: 'patched' });
      expect(outcomeOf(patched)).toBe('200');
      expect((await client().get(`${path}/rows/${rowIDs[0]}`)).json.data).toMatchObject({
        ...expected[0]!,
        Text: 'patched',
      });
      // Like other columns, a column that becomes text later has the texts of its values.
      expect(
        outcomeOf(await client().post(`${path}/rows?onSchemaError=updateSchema`, [{ Betrag: 'x', Tag: 'y' }])),
      ).toBe('201');
      expect((await client().get(`${path}/rows/${rowIDs[count]}`)).json.data).toMatchObject({
        Betrag: '-0.5',
        Tag: '2025-01-01',
      });
    },
  );

  test('the chunks of a stash may have different forms', async () => {
    const put = async (serial: number, query: string, body: string, stash = 'mixed'): Promise<void> => {
      expect(outcomeOf(await client().put(`/stashes/${stash}/${serial}?${query}`, body, csv))).toBe('200');
    };
    await put(1, 'decimal=,&dateFormat=d.m.y', 'n,d,t\n"1.234,5",1.2.2024,1.2.2024\n');
    await put(2, 'dateFormat=m/d/y', 'n,d,t\n.5,1/2/2024,x\n');
    const created = await client().post('/tables', { name: 'n', rows: { $stashID: 'mixed' } });
    expect(await rowsOf(created)).toEqual([
      { n: 1234.5, d: '2024-02-01', t: '1.2.2024' },
      { n: 0.5, d: '2024-01-02', t: 'x' },
    ]);
    // Chunks that are stored alike, and would be read as they are stored if they were not written so.
    await put(1, 'dateFormat=d/m/y', 'd\n1/2/2024\n', 'days');
    await put(2, 'dateFormat=m/d/y', 'd\n1/2/2024\n', 'days');
    await put(3, '', 'd\n2024-03-04\n', 'days');
    const days = await client().post('/tables', { name: 'n', rows: { $stashID: 'days' } });
    expect(await rowsOf(days)).toEqual([{ d: '2024-02-01' }, { d: '2024-01-02' }, { d: '2024-03-04' }]);
  });

  test('the answer notes how the service read the text, also for a chunk', async () => {
    const body = 'sep=;\ne\u0301;"b" \n1;x\n\u001a';
    const answers = [await create(body), await client().put('/stashes/notes/1', body, csv)];
    const notes = [
      'first line: named the delimiter by sep=',
      'blanks around quoted cells: were left out',
      'Ctrl-Z at the end: was left out',
      'header[0]: was written in another normal form of Unicode than its column',
    ];
    expect(answers.map(({ headers }) => headers.get('tablog-notes'))).toEqual(answers.map(() => notes.join('; ')));
  });

  test('a column name in NFD means the column of the table in NFC', async () => {
    const created = await client().post('/tables', { name: 'n', rows: [{ 'e\u0301': 1 }] });
    const path = `/tables/${created.json.data.tableID}`;
    for (const name of ['e\u0301', '\u00e9'])
      expect(outcomeOf(await client().post(`${path}/rows`, `${name}\n2\n`, csv))).toBe('201');
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual([
      { 'e\u0301': 1 },
      { 'e\u0301': 2 },
      { 'e\u0301': 2 },
    ]);
  });

  test('a compressed body creates a table', async () => {
    const text = `a,b\n${Array.from({ length: 5_000 }, (_, at) => `${at},x\n`).join('')}`;
    const rows = Array.from({ length: 5_000 }, (_, a) => ({ a, b: 'x' }));
    expect(await rowsOf(await create(gzipSync(text), 'name=n', { ...csv, 'content-encoding': 'gzip' }))).toEqual(rows);
    expect(
      await rowsOf(await create(brotliCompressSync(text), 'name=n', { ...csv, 'content-encoding': 'br' })),
    ).toEqual(rows);
    const broken = await create(gzipSync(text).subarray(0, -20), 'name=n', { ...csv, 'content-encoding': 'gzip' });
    expect(outcomeOf(broken)).toBe(malformed);
  });

  test('a header without rows creates columns of text', async () => {
    const created = await create('a,$rowID,b\n');
    expect(await rowsOf(created)).toEqual([]);
    const { tableID } = created.json.data;
    expect(outcomeOf(await client().post(`/tables/${tableID}/rows`, [{ c: 1 }]))).toBe('422 column_id_not_found');
    expect(outcomeOf(await client().post(`/tables/${tableID}/rows`, [{ b: 1, a: 'x' }]))).toBe('201');
    expect(cellsOf(await client().rows(tableID))).toEqual([{ a: 'x', b: '1' }]);
  });

  test('links apps, and has a version', async () => {
    const answer = await create('a\n1\n', 'name=n&appsToLink=one,two');
    expect(answer.json.data.linkedAppIDs).toEqual(['one', 'two']);
    expect((await client().head(`/tables/${answer.json.data.tableID}/rows`)).version).toBe(answer.version);
  });

  test.each<[string, string, Record<string, string>, string, string]>([
    ['', 'a\n1\n', csv, malformed, 'name: required'],
    ['name=n&schema=x', 'a\n1\n', csv, malformed, 'schema'],
    [
      'name=n',
      'a\n1\n',
      { 'content-type': 'text/plain' },
      malformed,
      'Content-Type: this media type is not supported here; application/json, application/x-ndjson, text/csv, or text/tab-separated-values is accepted.',
    ],
    [
      'name=n',
      'a\n1\n',
      { 'content-type': 'text/csv; charset=latin1' },
      malformed,
      'Content-Type: the charset must be UTF-8.',
    ],
    [
      'name=n',
      '[{"a":1}]',
      { 'content-type': 'text/tab-separated-values;charset=utf-16' },
      malformed,
      'Content-Type: the charset must be UTF-8.',
    ],
  ])('?%s with %j as %j is refused', async (query, body, headers, outcome, message) => {
    const answer = await create(body, query, headers);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, expect.stringContaining(message)]);
  });
});

describe('a malformed body is refused by create and add, and nothing changes', () => {
  const latin = Buffer.from('n,s\n1,é\n', 'latin1');
  test.each<[body: string | Uint8Array, outcome: string, message: string]>([
    ['', malformed, 'the body has no header: its first line must name the columns'],
    ['\n\n', malformed, 'the body has no header: its first line must name the columns'],
    [`n,${'x'.repeat(257)}\n`, malformed, 'header[1]: a column ID must not be longer than 256 bytes'],
    ['n,s,n\n1,2,3\n', '422 column_id_not_unique', 'header[2]: the column ID "n" occurs twice'],
    ['$rowID,n,$rowID\n', '422 column_id_not_unique', 'header[2]: the column ID "$rowID" occurs twice'],
    ['n,$stashID\n1,x\n', '422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'],
    ['n,$stashID\n', '422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'],
    ['n,s\n1,x\n1,x,y\n', malformed, 'rows[1]: the line has 3 cells, the header 2'],
    ['n,s\n1,"x\n2,y\n', malformed, 'rows[0].s: "\\"x\\n2,y" begins with a quote that is never closed'],
    ['n,s\n1,x"y"\n', malformed, 'rows[0].s: "x\\"" has a quote in it, but does not begin with one'],
    ['n,s\n1,"x"y\n', malformed, 'rows[0].s: "\\"x\\"y" has something behind its closing quote'],
    ['n,s\n1,x\0\n', malformed, 'rows[0].s: "x\\u0000" has U+0000 in it, which cannot be stored'],
    [latin, malformed, 'the body is not valid UTF-8'],
    [Buffer.from('n,s\n1,é').subarray(0, -1), malformed, 'the body is not valid UTF-8'],
    [
      `n,s\n1,x\n1,${'x'.repeat(262_145)}\n`,
      '400 limit_exceeded',
      'rows[1].s: a cell must not be longer than 262144 bytes',
    ],
    [
      `n,s\n1,"${'x\n'.repeat(300_000)}"\n`,
      '400 limit_exceeded',
      'rows[0]: a row must not be longer than 524288 bytes',
    ],
    [
      `n,s\n1,${'\u0001'.repeat(100_000)}\n`,
      '400 limit_exceeded',
      'rows[0]: a row must not be longer than 524288 bytes',
    ],
  ])('a malformed body is refused by create and add: %#', async (body, outcome, message) => {
    const table = await createTable(client(), [{ n: 1 }], { n: 'number', s: 'string' });
    for (const path of [
      '/tables?name=n',
      `${table.path}?onSchemaError=abort`,
      `${table.path}?onSchemaError=updateSchema`,
    ]) {
      await leavingUnchanged(client(), table.path, async () => {
        const answer = await client().post(path, body, csv);
        expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
      });
    }
  });

  test('a header with more columns than a table may have is refused', async () => {
    const header = (count: number): string => `${Array.from({ length: count }, (_, at) => `c${at}`).join()}\n`;
    expect(outcomeOf(await create(header(1_000)))).toBe('201');
    const answer = await create(header(1_001));
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([
      '400 limit_exceeded',
      'the table would have 1001 columns; at most 1000 are allowed',
    ]);
    expect(outcomeOf(await create(header(2_001)))).toBe('400 limit_exceeded');
  });

  test.each(['', 'a,a\n1,2,3\n', 'a\n"', 'a\n1,2\n'])(
    'a malformed body for an unknown table is refused: %j',
    async (body) => {
      const path = `/tables/${unknownTableId}/rows`;
      expect(outcomeOf(await client().post(path, body, csv))).not.toBe('404 table_not_found');
      expect(outcomeOf(await client().post(path, 'a\n1\n', csv))).toBe('404 table_not_found');
    },
  );

  test('a patch accepts neither CSV nor TSV', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    const answer = await client().patch(`${table.path}/${table.rowIds[0]}`, 'n\n2\n', csv);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([
      malformed,
      'Content-Type: this media type is not supported here; application/json is accepted.',
    ]);
  });
});

describe('NDJSON', () => {
  const lines = '{"id":1610521604143693812,"n":1}\n\n{"n":2,"id":4.20,"l":[{}]}\r\n{}';
  const rows = [{ id: '1610521604143693812', n: 1 }, { n: 2, id: '4.20', l: [{}] }, {}];

  test.each(['application/x-ndjson', 'application/jsonl', 'Application/NDJSON', 'application/x-ndjson; charset=utf-8'])(
    'as %s is accepted wherever CSV is',
    async (type) => {
      const headers = { 'content-type': type };
      const created = await create(lines, 'name=n', headers);
      expect(await rowsOf(created)).toEqual(rows);
      const path = `/tables/${created.json.data.tableID}`;
      const stash = newStashId();
      expect(
        outcomeOf(
          await client().put(`/stashes/${stash}/1`, gzipSync(lines), { ...headers, 'content-encoding': 'gzip' }),
        ),
      ).toBe('200');
      expect([
        outcomeOf(await client().put(path, lines, headers)),
        outcomeOf(await client().post(`${path}/rows`, lines, headers)),
        outcomeOf(await client().post(`${path}/rows`, { $stashID: stash })),
      ]).toEqual(['200', '201', '201']);
      expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual([...rows, ...rows, ...rows]);
    },
  );

  test('may carry row IDs', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    await client().put(`/tables/${table.id}`, `{"$rowID":"${table.rowIds[1]!}","a":3}\n{"a":4}`, ndjson);
    expect((await client().rows(table.id))[0]).toEqual({ $rowID: table.rowIds[1], a: 3 });
    expect(outcomeOf(await client().put(`/tables/${table.id}`, '{"$rowID":"x"}', ndjson))).toBe(malformed);
  });

  test.each([
    ['', 'the body is empty'],
    ['\n', 'the body is empty'],
    ['[{"n":1}]', 'rows[0]: a row must be an object'],
    ['{"n":1}\n{"n":}\n', 'rows[1].n: broken JSON, unexpected "}"'],
    ['{"n":1}{"n":2}', 'rows[0]: something follows the row in its line'],
    ['{"n":1}\n{"n":2', 'rows[1]: the body stops before its JSON ends'],
  ])('%j is malformed', async (body, message) => {
    const table = await createTable(client(), [{ n: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answers = [
        await client().post(table.path, body, ndjson),
        await client().put(`/tables/${table.id}`, body, ndjson),
        await create(body, 'name=n', ndjson),
        await client().put(`/stashes/${newStashId()}/1`, body, ndjson),
      ];
      expect(answers.map((answer) => [outcomeOf(answer), answer.json.error.message])).toEqual(
        answers.map(() => [malformed, message]),
      );
    });
  });

  test('an error names the row of the value that does not fit, and query parameters of CSV are refused', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    const refused = await client().post(table.path, '{"n":1}\n{"n":"x"}', ndjson);
    expect([outcomeOf(refused), refused.json.error.message]).toEqual([
      '422 column_has_invalid_value',
      'rows[1].n: "x" does not fit the column\'s type number',
    ]);
    expect((await client().post(`${table.path}?header=absent`, '{"n":1}', ndjson)).json.error.message).toBe(
      'query.header: applies to CSV and TSV only.',
    );
  });
});
