/** CSV, TSV and NDJSON bodies (spec 4.2, decisions 2, 3 and 6): the tables that are created of them, and what is malformed in any request. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { csv, ndjson, tsv } from '../support/media-types.ts';
import { newStashId } from '../support/stashes.ts';
import { cellsOf, createTable, leavingUnchanged, unknownTableId } from '../support/tables.ts';

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

describe('creating a table', () => {
  test.each<[string, string, Record<string, string>, Record<string, unknown>[]]>([
    ['of CSV', 'id,name\n1,Ada\n2,"Bo, Jr."\n', csv, [{ id: 1, name: 'Ada' }, { id: 2, name: 'Bo, Jr.' }]],
    ['of TSV', 'id\tname\r\n1\tAda\r\n2\t"Bo\tJr."', tsv, [{ id: 1, name: 'Ada' }, { id: 2, name: 'Bo\tJr.' }]],
    ['with a charset', 'é\nü\n', { 'content-type': 'text/csv; charset=UTF-8' }, [{ é: 'ü' }]],
    ['in capitals', 'a\n1\n', { 'content-type': 'Text/CSV;header=present' }, [{ a: 1 }]],
    ['with a byte order mark', '\ufeffa\n1\n', csv, [{ a: 1 }]],
    ['with identities that are ignored', '$rowID,a\nx,1\nAAAAAAAAAAEAAAAAAAAAAA,2\n', csv, [{ a: 1 }, { a: 2 }]],
    ['with empty cells', 'a,b\n,\n"",x\ny\n', csv, [{}, { b: 'x' }, { a: 'y' }]],
    ['with blank lines', '\na\n\nx\n\n\n', csv, [{ a: 'x' }]],
    ['of every natural type', 'n,b,d,t,s,z,l\n-1.50,TRUE,2024-02-29,2024-02-29T10:00Z,[1],007,1234567890123456\n 2 ,false,2024-03-01,2024-03-01,{},1,1\n', csv, [
      { n: -1.5, b: true, d: '2024-02-29', t: '2024-02-29T10:00Z', s: '[1]', z: '007', l: '1234567890123456' },
      { n: 2, b: false, d: '2024-03-01', t: '2024-03-01', s: '{}', z: '1', l: '1' },
    ]],
    ['of texts that are nearly something', 'a,b,c\n4.20,TRUE,12:30\nx,1,null\n', csv, [{ a: '4.20', b: 'TRUE', c: '12:30' }, { a: 'x', b: '1', c: 'null' }]],
    ['of odd columns', '10,__proto__,constructor, a \n1,2,3,4\n', csv, [JSON.parse('{"10":1,"__proto__":2,"constructor":3," a ":4}')]],
  ])('%s', async (_name, body, headers, rows) => expect(await rowsOf(await create(body, 'name=n', headers))).toEqual(rows));

  test.each<[string, string, Record<string, unknown>[], string | null]>([
    ['first, as pandas writes its index', ',name,age\n0,Ada,36\n1,Bo,\n', [{ column_1: 0, name: 'Ada', age: 36 }, { column_1: 1, name: 'Bo' }], 'column_1: had no name'],
    ['first, as R writes it', '"","speed","dist"\n"1",4,2\n', [{ column_1: 1, speed: 4, dist: 2 }], 'column_1: had no name'],
    ['last, without a value', 'a,b,c,\n1,2,3,\n', [{ a: 1, b: 2, c: 3 }], 'column_4: had no name and no values, and was left out'],
    ['none', 'a\n1\n', [{ a: 1 }], null],
  ])('with a column that has no name: %s', async (_name, body, rows, notes) => {
    const created = await create(body);
    expect([await rowsOf(created), created.headers.get('tablog-notes')]).toEqual([rows, notes]);
    const path = `/tables/${created.json.data.tableID}`;
    const [added, overwritten] = [await client().post(`${path}/rows`, body, csv), await client().put(path, body, csv)];
    expect([added, overwritten].map((answer) => [answer.status, answer.headers.get('tablog-notes')])).toEqual([[201, notes], [200, notes]]);
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual(rows);
  });

  test.each<[string, string, string, Record<string, string>, Record<string, unknown>[]]>([
    ['that has no header', 'x,1\ny,2\n', 'header=absent', csv, [{ column_1: 'x', column_2: 1 }, { column_1: 'y', column_2: 2 }]],
    ['that has no header, as its media type says', 'x\n', '', { 'content-type': 'text/csv; header=absent' }, [{ column_1: 'x' }]],
    ['whose columns go elsewhere', 'Full name,n\nx,1\n', `columns=${encodeURIComponent('{"Full name":"name"}')}`, csv, [{ name: 'x', n: 1 }]],
    ['whose delimiter was named', 'a,b\tc\n1\t2\n', 'delimiter=tab', csv, [{ 'a,b': 1, c: 2 }]],
    ['whose marks were named', "# x\na;b\n1;'x;\\'y'\n", `delimiter=${encodeURIComponent(';')}&quote='&escape=${encodeURIComponent('\\')}&comment=${encodeURIComponent('#')}`, csv, [{ a: 1, b: "x;'y" }]],
    ['that has no quotes', 'a\n"\n', 'quote=none', csv, [{ a: '"' }]],
    ['with an inch mark', 'name,size\nblue,6 x 5"\n', 'lenient=true', csv, [{ name: 'blue', size: '6 x 5"' }]],
    ['with lines before the header', 'Station report\nMade 2024-01-01\n\nyear,mean\n1959,315.98\n', 'skipLines=3', csv, [{ year: 1959, mean: 315.98 }]],
    ['with blanks before quotes', '"Index", "Item"\n1, "Sunscreen, 8 oz"\n', '', csv, [{ Index: 1, Item: 'Sunscreen, 8 oz' }]],
    ['that names its delimiter, in NFD, with carriage returns and Ctrl-Z', 'sep=;\re\u0301;b\r1;x\r\u001a', '', csv, [{ '\u00e9': 1, b: 'x' }]],
    ['that names a column twice', 'id,name,name\n1,x,y\n', 'duplicateColumns=rename', csv, [{ id: 1, name: 'x', name_2: 'y' }]],
  ])('of CSV %s', async (_name, body, query, headers, rows) => {
    const created = await create(body, `name=n&${query}`, headers);
    expect(await rowsOf(created)).toEqual(rows);
    const path = `/tables/${created.json.data.tableID}`;
    expect([outcomeOf(await client().post(`${path}/rows?${query}`, body, headers)), outcomeOf(await client().put(`${path}?${query}`, body, headers))]).toEqual(['201', '200']);
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual(rows);
  });

  test.each([
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
    ['delimiter=tab', '[{"a":1}]', { 'content-type': 'application/json' }, 'query.delimiter: applies to CSV and TSV only.'],
    ['header=absent', '[{"a":1}]', { 'content-type': 'application/json' }, 'query.header: applies to CSV and TSV only.'],
    ['', 'a\n', { 'content-type': 'text/csv; header=no' }, 'Content-Type: header must be present or absent.'],
  ])('the form %s of a body %j is refused', async (query, body, headers, message) => {
    const answer = await create(body, `name=n&${query}`, headers);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([malformed, expect.stringContaining(message)]);
  });

  test('what was made of it is noted, also of a chunk', async () => {
    const body = 'sep=;\ne\u0301;"b" \n1;x\n\u001a';
    const answers = [await create(body), await client().put('/stashes/notes/1', body, csv)];
    const notes = [
      'first line: named the delimiter by sep=', 'blanks around quoted cells: were left out', 'Ctrl-Z at the end: was left out',
      'header[0]: was written in another normal form of Unicode than its column',
    ];
    expect(answers.map(({ headers }) => headers.get('tablog-notes'))).toEqual(answers.map(() => notes.join('; ')));
  });

  test('a column in NFD is that of the table', async () => {
    const created = await client().post('/tables', { name: 'n', rows: [{ 'e\u0301': 1 }] });
    const path = `/tables/${created.json.data.tableID}`;
    for (const name of ['e\u0301', '\u00e9']) expect(outcomeOf(await client().post(`${path}/rows`, `${name}\n2\n`, csv))).toBe('201');
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual([{ 'e\u0301': 1 }, { 'e\u0301': 2 }, { 'e\u0301': 2 }]);
  });

  test('compressed', async () => {
    const text = `a,b\n${Array.from({ length: 5_000 }, (_, at) => `${at},x\n`).join('')}`;
    const rows = Array.from({ length: 5_000 }, (_, a) => ({ a, b: 'x' }));
    expect(await rowsOf(await create(gzipSync(text), 'name=n', { ...csv, 'content-encoding': 'gzip' }))).toEqual(rows);
    expect(await rowsOf(await create(brotliCompressSync(text), 'name=n', { ...csv, 'content-encoding': 'br' }))).toEqual(rows);
    const broken = await create(gzipSync(text).subarray(0, -20), 'name=n', { ...csv, 'content-encoding': 'gzip' });
    expect(outcomeOf(broken)).toBe(malformed);
  });

  test('of a header alone, whose columns are texts', async () => {
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
    ['', 'a\n1\n', csv, malformed, 'name: it is missing'],
    ['name=n&schema=x', 'a\n1\n', csv, malformed, 'schema'],
    ['name=n', 'a\n1\n', { 'content-type': 'text/plain' }, malformed,
      'Content-Type: this media type is not supported here; application/json, application/x-ndjson, text/csv, or text/tab-separated-values is accepted.'],
    ['name=n', 'a\n1\n', { 'content-type': 'text/csv; charset=latin1' }, malformed, 'Content-Type: the charset must be UTF-8.'],
    ['name=n', '[{"a":1}]', { 'content-type': 'text/tab-separated-values;charset=utf-16' }, malformed, 'Content-Type: the charset must be UTF-8.'],
  ])('?%s with %j as %j is refused', async (query, body, headers, outcome, message) => {
    const answer = await create(body, query, headers);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, expect.stringContaining(message)]);
  });
});

describe('what is malformed is refused by create and add, and nothing changes', () => {
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
    [`n,s\n1,x\n1,${'x'.repeat(262_145)}\n`, '400 limit_exceeded', 'rows[1].s: a cell must not be longer than 262144 bytes'],
    [`n,s\n1,"${'x\n'.repeat(300_000)}"\n`, '400 limit_exceeded', 'rows[0]: a row must not be longer than 524288 bytes'],
    [`n,s\n1,${'\u0001'.repeat(100_000)}\n`, '400 limit_exceeded', 'rows[0]: a row must not be longer than 524288 bytes'],
  ])('%#', async (body, outcome, message) => {
    const table = await createTable(client(), [{ n: 1 }], { n: 'number', s: 'string' });
    for (const path of ['/tables?name=n', `${table.path}?onSchemaError=abort`, `${table.path}?onSchemaError=updateSchema`]) {
      await leavingUnchanged(client(), table.path, async () => {
        const answer = await client().post(path, body, csv);
        expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
      });
    }
  });

  test('more columns than a table may have', async () => {
    const header = (count: number): string => `${Array.from({ length: count }, (_, at) => `c${at}`).join()}\n`;
    expect(outcomeOf(await create(header(1_000)))).toBe('201');
    const answer = await create(header(1_001));
    expect([outcomeOf(answer), answer.json.error.message]).toEqual(['400 limit_exceeded', 'the table would have 1001 columns; at most 1000 are allowed']);
    expect(outcomeOf(await create(header(2_001)))).toBe('400 limit_exceeded');
  });

  test.each(['', 'a,a\n1,2,3\n', 'a\n"', 'a\n1,2\n'])('also for an unknown table: %j', async (body) => {
    const path = `/tables/${unknownTableId}/rows`;
    expect(outcomeOf(await client().post(path, body, csv))).not.toBe('404 table_not_found');
    expect(outcomeOf(await client().post(path, 'a\n1\n', csv))).toBe('404 table_not_found');
  });

  test('a patch takes neither', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    const answer = await client().patch(`${table.path}/${table.rowIds[0]}`, 'n\n2\n', csv);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual(
      [malformed, 'Content-Type: this media type is not supported here; application/json is accepted.']);
  });
});

describe('NDJSON', () => {
  const lines = '{"id":1610521604143693812,"n":1}\n\n{"n":2,"id":4.20,"l":[{}]}\r\n{}';
  const rows = [{ id: '1610521604143693812', n: 1 }, { n: 2, id: '4.20', l: [{}] }, {}];

  test.each(['application/x-ndjson', 'application/jsonl', 'Application/NDJSON', 'application/x-ndjson; charset=utf-8'])('as %s is taken wherever CSV is', async (type) => {
    const headers = { 'content-type': type };
    const created = await create(lines, 'name=n', headers);
    expect(await rowsOf(created)).toEqual(rows);
    const path = `/tables/${created.json.data.tableID}`;
    const stash = newStashId();
    expect(outcomeOf(await client().put(`/stashes/${stash}/1`, gzipSync(lines), { ...headers, 'content-encoding': 'gzip' }))).toBe('200');
    expect([
      outcomeOf(await client().put(path, lines, headers)), outcomeOf(await client().post(`${path}/rows`, lines, headers)), outcomeOf(await client().post(`${path}/rows`, { $stashID: stash })),
    ]).toEqual(['200', '201', '201']);
    expect(cellsOf(await client().rows(created.json.data.tableID))).toEqual([...rows, ...rows, ...rows]);
  });

  test('may have the identities of rows', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    await client().put(`/tables/${table.id}`, `{"$rowID":"${table.rowIds[1]!}","a":3}\n{"a":4}`, ndjson);
    expect((await client().rows(table.id))[0]).toEqual({ $rowID: table.rowIds[1], a: 3 });
    expect(outcomeOf(await client().put(`/tables/${table.id}`, '{"$rowID":"x"}', ndjson))).toBe(malformed);
  });

  test.each([
    ['', 'the body is empty'], ['\n', 'the body is empty'], ['[{"n":1}]', 'rows[0]: a row must be an object'], ['{"n":1}\n{"n":}\n', 'rows[1].n: broken JSON, unexpected "}"'],
    ['{"n":1}{"n":2}', 'rows[0]: something follows the row in its line'], ['{"n":1}\n{"n":2', 'rows[1]: the body stops before its JSON ends'],
  ])('%j is malformed', async (body, message) => {
    const table = await createTable(client(), [{ n: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answers = [await client().post(table.path, body, ndjson), await client().put(`/tables/${table.id}`, body, ndjson), await create(body, 'name=n', ndjson), await client().put(`/stashes/${newStashId()}/1`, body, ndjson)];
      expect(answers.map((answer) => [outcomeOf(answer), answer.json.error.message])).toEqual(answers.map(() => [malformed, message]));
    });
  });

  test('what does not fit is named by its row, and query parameters of CSV do not apply', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    const refused = await client().post(table.path, '{"n":1}\n{"n":"x"}', ndjson);
    expect([outcomeOf(refused), refused.json.error.message]).toEqual(['422 column_has_invalid_value', 'rows[1].n: "x" does not fit the column\'s type number']);
    expect((await client().post(`${table.path}?header=absent`, '{"n":1}', ndjson)).json.error.message).toBe('query.header: applies to CSV and TSV only.');
  });
});
