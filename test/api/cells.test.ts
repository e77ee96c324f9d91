/** CSV and TSV bodies (spec 4.2, decisions 2, 3 and 6): creating tables of them, adding them, and what is refused. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import Papa from 'papaparse';
import { scale } from '../scale.ts';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { fc, uncut } from '../support/property.ts';
import { cellsOf, createTable, leavingUnchanged, stateOf, unknownTableId, type MadeTable } from '../support/tables.ts';

const { client } = useOwnApi({ BODY_SIZE_MAX_BYTES: '30000000' });
const csv = { 'content-type': 'text/csv' };
const tsv = { 'content-type': 'text/tab-separated-values' };
const malformed = '400 request_validation_error';

const create = (body: string | Uint8Array, query = 'name=n', headers: Record<string, string> = csv): Promise<Answer> =>
  client().post(`/tables?${query}`, body, headers);
const add = (table: MadeTable, body: string | Uint8Array, mode = 'abort', headers: Record<string, string> = csv): Promise<Answer> =>
  client().post(`${table.path}?onSchemaError=${mode}`, body, headers);

async function rowsOf(answer: Answer): Promise<Record<string, unknown>[]> {
  expect(outcomeOf(answer)).toBe('201');
  const rows = await client().rows(answer.json.data.tableID);
  expect(rows.map((row) => row['$rowID'])).toEqual(answer.json.data.rowIDs);
  return cellsOf(rows);
}

async function lastRows(table: MadeTable, answer: Answer): Promise<Record<string, unknown>[]> {
  expect(outcomeOf(answer)).toBe('201');
  const ids: string[] = answer.json.data.rowIDs;
  const rows = (await client().rows(table.id)).slice(-ids.length);
  expect(rows.map((row) => row['$rowID'])).toEqual(ids);
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
      'Content-Type: this media type is not supported here; application/json, text/csv, or text/tab-separated-values is accepted.'],
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
    ['n,,s\n', malformed, 'header[1]: a column ID must not be empty'],
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
    ['n,s\r1,x\r', malformed, 'header[1]: "s\\r" has a carriage return in it that is no line end, but is not quoted'],
    [latin, malformed, 'the body is not valid UTF-8'],
    [Buffer.from('n,s\n1,é').subarray(0, -1), malformed, 'the body is not valid UTF-8'],
    [`n,s\n1,x\n1,${'x'.repeat(262_145)}\n`, '400 limit_exceeded', 'rows[1].s: a cell must not be longer than 262144 bytes'],
    [`n,s\n1,"${'x\n'.repeat(300_000)}"\n`, '400 limit_exceeded', 'rows[0]: a row must not be longer than 524288 bytes'],
    [`n,s\n1,${'\u0001'.repeat(100_000)}\n`, '400 limit_exceeded', 'rows[0]: a row must not be longer than 524288 bytes'],
  ])('%#', async (body, outcome, message) => {
    const table = await createTable(client(), [{ n: 1 }], { n: 'number', s: 'string' });
    for (const send of [() => create(body), () => add(table, body), () => add(table, body, 'updateSchema')]) {
      await leavingUnchanged(client(), table.path, async () => {
        const answer = await send();
        expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
      });
    }
  });

  test('more columns than a table may have', async () => {
    const header = (count: number): string => `${Array.from({ length: count }, (_, at) => `c${at}`).join()}\n`;
    expect(outcomeOf(await create(header(1_000)))).toBe('201');
    const answer = await create(header(1_001));
    expect([outcomeOf(answer), answer.json.error.message]).toEqual(['400 limit_exceeded', 'the table would have 1001 columns; at most 1000 are allowed']);
    expect(outcomeOf(await create(header(10_001)))).toBe('400 limit_exceeded');
  });

  test.each(['', 'a,a\n', 'a\n"', 'a\n1,2\n'])('also for an unknown table: %j', async (body) => {
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

describe('adding rows', () => {
  const types = { n: 'number', s: 'string', b: 'boolean', d: 'date', j: 'json', l: { kind: 'array', items: { kind: 'number' } } };
  const makeTable = (): Promise<MadeTable> => createTable(client(), [{ n: 0, s: 'first' }], types);

  test('that fit', async () => {
    const table = await makeTable();
    const answer = await add(table, 'l,j,d,b,s,n\n"[1, 2]","{""a"": [1,\n2]}",2024-02-29,TRUE,007, 4.20\n,null,,,"x\ny",\n');
    expect(await lastRows(table, answer)).toEqual([
      { n: 4.2, s: '007', b: true, d: '2024-02-29', j: { a: [1, 2] }, l: [1, 2] }, { s: 'x\ny' },
    ]);
    expect((await client().get(table.path)).text).toContain('"n":4.20,"s":"007"');
  });

  test.each<[string, string, string]>([
    ['n\n1\n007\n', '422 column_has_invalid_value', 'rows[1].n: "007" does not fit the column\'s type number'],
    ['n\n9007199254740993\n', '422 column_has_invalid_value', 'rows[0].n: "9007199254740993" does not fit the column\'s type number'],
    ['n\n1e400\n', '422 column_has_invalid_value', 'rows[0].n: "1e400" does not fit the column\'s type number'],
    ['b\nyes\n', '422 column_has_invalid_value', 'rows[0].b: "yes" does not fit the column\'s type boolean'],
    ['d\n2024-02-30\n', '422 column_has_invalid_value', 'rows[0].d: "2024-02-30" does not fit the column\'s type date'],
    ['j\n{a:1}\n', '422 column_has_invalid_value', 'rows[0].j: "{a:1}" does not fit the column\'s type json'],
    ['l\n1\n', '422 column_has_invalid_value', 'rows[0].l: "1" does not fit the column\'s type array<number>'],
    ['s,d,n\nx,,\n,x,y\n', '422 column_has_invalid_value', 'rows[1].d: "x" does not fit the column\'s type date'],
    ['n,x\n1,\n', '422 column_id_not_found', 'rows[0].x: the table has no column "x"'],
    ['n,x\n', '422 column_id_not_found', 'rows[0].x: the table has no column "x"'],
    ['$stashID\n', '422 column_id_reserved', 'header[0]: the column ID "$stashID" is reserved'],
    ['n,$stashID\nx,1\n', '422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'],
    ['x,$stashID\n1,1\n', '422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'],
  ])('%j is refused', async (body, outcome, message) => {
    const table = await makeTable();
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await add(table, body);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
    });
  });

  test.each(['abort', 'dropColumns', 'updateSchema'])('a reserved column is refused by all that take cells under %s', async (mode) => {
    const table = await makeTable();
    const headers = { 'content-type': 'text/csv' };
    await leavingUnchanged(client(), table.path, async () => {
      const answers = [
        await add(table, 'n,$stashID\n1,2\n', mode),
        await client().put(`/tables/${table.id}?onSchemaError=${mode}`, 'n,$stashID\n1,2\n', headers),
        await client().post(`/tables?name=n&onSchemaError=${mode}`, 'n,$stashID\n1,2\n', headers),
        await client().put('/stashes/reserved/1', 'n,$stashID\n1,2\n', headers),
      ];
      const refused = ['422 column_id_reserved', 'header[1]: the column ID "$stashID" is reserved'];
      expect(answers.map((answer) => [outcomeOf(answer), answer.json.error.message])).toEqual(answers.map(() => refused));
    });
  });

  test('under dropColumns: the cells that do not fit are empty', async () => {
    const table = await makeTable();
    const answer = await add(table, 'n,x,b,l,j\n007,1,TRUE,3,{\n5,1,no,[3],[]\n', 'dropColumns');
    expect(await lastRows(table, answer)).toEqual([{ b: true }, { n: 5, l: [3], j: [] }]);
  });

  test('under updateSchema: columns are widened and appended, older rows too', async () => {
    const table = await makeTable();
    const answer = await add(table, 'n,x,l,d\n007,4.20,3,2024-01-01T10:00\n1,,[4],\n', 'updateSchema');
    expect(await lastRows(table, answer)).toEqual([{ n: '007', x: 4.2, l: [3], d: '2024-01-01T10:00' }, { n: '1', l: [4] }]);
    expect(cellsOf(await client().rows(table.id))[0]).toEqual({ n: '0', s: 'first' });
    const misfit = await add(table, 'j\nx\n', 'updateSchema');
    expect(misfit.json.error.message).toBe('rows[0].j: "x" does not fit the column\'s type json');
  });

  test.each(['abort', 'dropColumns', 'updateSchema'])('a header without rows moves nothing under %s', async (mode) => {
    const table = await makeTable();
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await add(table, mode === 'abort' ? 'n\n' : 'n,x\n', mode);
      expect([outcomeOf(answer), answer.version, answer.json.data.rowIDs]).toEqual(['201', table.version, []]);
    });
  });

  test('with If-Match and Idempotency-Key', async () => {
    const table = await makeTable();
    const headers = { ...csv, 'if-match': `"${table.version}"`, 'idempotency-key': `csv ${table.id}` };
    const first = await client().post(table.path, 'n\n1\n', headers);
    expect(outcomeOf(first)).toBe('201');
    expect((await client().post(table.path, 'n\n1\n', headers)).text).toBe(first.text);
    expect(outcomeOf(await client().post(table.path, 'n\n1\n', { ...headers, ...tsv }))).toBe('400 idempotency_key_reused');
    expect(outcomeOf(await client().post(table.path, 'n\n2\n', { ...csv, 'if-match': `"${table.version}"` }))).toBe('412 precondition_failed');
  });
});

describe('overwriting a table', () => {
  const overwrite = (table: MadeTable, body: string, mode = 'abort'): Promise<Answer> =>
    client().send(`/tables/${table.id}?onSchemaError=${mode}`, { method: 'PUT', body, headers: csv });

  test('keeps the identities that a column $rowID holds', async () => {
    const table = await createTable(client(), [{ n: 1 }, { n: 2 }, { n: 3 }]);
    const answer = await overwrite(table, `n,$rowID\n30,${table.rowIds[2]}\n40,\n10,${table.rowIds[0]}\n`);
    expect(outcomeOf(answer)).toBe('200');
    const { rowIDs } = answer.json.data;
    expect([rowIDs[0], rowIDs[2]]).toEqual([table.rowIds[2], table.rowIds[0]]);
    expect(await client().rows(table.id)).toEqual([30, 40, 10].map((n, at) => ({ $rowID: rowIDs[at], n })));
    const rows = Array.from({ length: 12_000 }, (_, n) => `${n},${n === 11_999 ? rowIDs[1] : ''}\n`);
    const large = await overwrite(table, `n,$rowID\n${rows.join('')}`);
    expect(large.json.data.rowIDs.at(-1)).toBe(rowIDs[1]);
    expect((await client().get(`${table.path}/${rowIDs[1]}`)).json.data).toEqual({ $rowID: rowIDs[1], n: 11_999 });
  });

  test.each<[string, string, string]>([
    ['n,$rowID\n1,x\n', malformed, 'rows[0].$rowID: it is no row\'s ID'],
    ['n,$rowID\n1,\n1,AAAAAAAAAAAAAAAAAAAAAA\n', malformed, 'rows[1].$rowID: it is no row\'s ID'],
    ['n,x\n', '422 column_id_not_found', 'rows[0].x: the table has no column "x"'],
    ['n\nx\n', '422 column_has_invalid_value', 'rows[0].n: "x" does not fit the column\'s type number'],
    ['', malformed, 'the body has no header: its first line must name the columns'],
  ])('with %j is refused', async (body, outcome, message) => {
    const table = await createTable(client(), [{ n: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await overwrite(table, body);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
    });
  });

  test('with a header alone clears it', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    expect((await overwrite(table, 'n\n')).json.data.rowIDs).toEqual([]);
    expect(await client().rows(table.id)).toEqual([]);
    expect(outcomeOf(await overwrite(table, 'n,x\n', 'updateSchema'))).toBe('200');
    expect(outcomeOf(await add(table, 'x\n1\n'))).toBe('201');
  });
});

describe('large bodies', () => {
  const count = 25_000;
  const rows = Array.from({ length: count }, (_, at) => ({ n: at, code: String(at).padStart(6, '0'), text: `"row", ${at}\n` }));
  const body = Papa.unparse(rows);

  test('come back in order, are patched, and are widened', async () => {
    const created = await create(body);
    expect(await rowsOf(created)).toEqual(rows);
    const table = { id: created.json.data.tableID, path: `/tables/${created.json.data.tableID}/rows`, rowIds: created.json.data.rowIDs, version: created.version! };
    expect(outcomeOf(await client().patch(`${table.path}/${table.rowIds[count - 1]}`, { code: 5 }))).toBe('200');
    expect(outcomeOf(await add(table, 'n\nx\n', 'updateSchema'))).toBe('201');
    const read = cellsOf(await client().rows(table.id));
    expect(read.slice(0, count - 1)).toEqual(rows.slice(0, -1).map((row) => ({ ...row, n: String(row.n) })));
    expect(read.slice(count - 1)).toEqual([{ ...rows.at(-1), n: String(count - 1), code: '5' }, { n: 'x' }]);
  });

  test('are added to columns that convert them', async () => {
    const table = await createTable(client(), [], { text: 'markdown', code: 'number', n: 'string' });
    const refused = await add(table, body);
    expect(refused.json.error.message).toBe('rows[0].code: "000000" does not fit the column\'s type number');
    expect(await lastRows(table, await add(table, body, 'dropColumns'))).toEqual(rows.map(({ n, text }) => ({ n: String(n), text })));
  });

  test('are refused whole for their last cell', async () => {
    const table = await createTable(client(), [], { n: 'number', code: 'string', text: 'string' });
    const before = await stateOf(client(), table.path);
    const misfit = await add(table, `${body}\r\nx,y,z`);
    expect(misfit.json.error.message).toBe(`rows[${count}].n: "x" does not fit the column's type number`);
    expect(outcomeOf(await add(table, `${body}\r\n1,2,"`))).toBe(malformed);
    expect(await stateOf(client(), table.path)).toEqual(before);
  });
});

test('any texts come back as they were, in columns of strings', async () => {
  const text = fc.oneof(
    fc.constantFrom('', '007', '4.20', 'TRUE', 'null', ' 5', '"', 'a,b', 'x\r\ny', '\t', '[1]', '\\', '\u0001', '\ufeff', '2024-01-01', '😀'),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
  ).filter((value) => !value.includes('\0'));
  const bodies = fc.tuple(
    fc.array(fc.record({ a: text, b: text, c: text }), { minLength: 1, maxLength: 150 }), fc.constantFrom(csv, tsv), fc.constantFrom('\n', '\r\n'),
  );
  await fc.assert(fc.asyncProperty(bodies, async ([rows, headers, newline]) => {
    const table = await createTable(client(), [], { a: 'string', b: 'string', c: 'string' });
    const written = Papa.unparse(rows, { newline, delimiter: headers === csv ? ',' : '\t' });
    const wanted = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '')));
    expect(await lastRows(table, await add(table, written, 'abort', headers))).toEqual(wanted);
  }), { ...uncut, numRuns: scale.textBodies });
});
