/**
 * Decisions 1, 2 and 6: malformed input is refused before anything happens, and input that only looks odd is stored
 * unchanged.
 */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { cellsOf, createTable, leavingUnchanged, unknownTableId, type MadeTable } from '../support/tables.ts';

const { client } = useApi();
const malformed = '400 request_validation_error';
const misfit = '422 column_has_invalid_value';
const types = { a: 'json', s: 'string', n: 'number' };
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

/**
 * Sends the text of one row to every endpoint that takes rows. `isDropped`: except to those that would drop its cells.
 */
async function sendRow(
  row: string | Uint8Array,
  isDropped: boolean,
  send: (table: MadeTable, answer: Answer, what: string) => Promise<void>,
): Promise<void> {
  const table = await createTable(client(), [{ n: 1 }], types);
  const within = (before: string, after: string): Uint8Array =>
    Buffer.concat([Buffer.from(before), Buffer.from(row as string), Buffer.from(after)]);
  await send(table, await client().post(table.path, within('[', ']')), 'add');
  await send(table, await client().post(table.path, within('{"rows":[', ']}')), 'add wrapped');
  await send(table, await client().post(`${table.path}?onSchemaError=updateSchema`, within('[', ']')), 'add updating');
  if (!isDropped)
    await send(table, await client().post(`${table.path}?onSchemaError=dropColumns`, within('[', ']')), 'add dropping');
  await send(table, await client().patch(`${table.path}/${table.rowIds[0]}`, within('', '')), 'patch');
  await send(table, await client().post('/tables', within('{"name":"n","rows":[', ']}')), 'create');
  await send(table, await client().post('/tables?name=n', within('[', ']')), 'create of a bare array');
}

/** Expects that every endpoint refuses a row. `isDropped`: except those that may drop cells. */
async function expectRefused(name: string, row: string | Uint8Array, isDropped: boolean): Promise<void> {
  let table: MadeTable | undefined;
  let state: unknown;
  const look = async (): Promise<unknown> => {
    const [page, tables] = await Promise.all([client().get(table!.path), client().get('/tables')]);
    return [page.version, page.text, tables.text];
  };
  await sendRow(row, isDropped, async (made, answer, what) => {
    if (table === undefined) {
      table = made;
      state = await look();
    }
    // The specification does not say whether these are malformed or exceed a limit.
    const type = /column ID of 257|nesting/.test(name)
      ? /^400 (request_validation_error|limit_exceeded)$/
      : /^400 request_validation_error$/;
    expect([what, outcomeOf(answer)]).toEqual([what, expect.stringMatching(type)]);
    expect(await look()).toEqual(state);
  });
  expect((await client().head(table!.path)).version).toBe(table!.version);
}

/** One of each kind. test/unit/language/formats/json-row-reader.test.ts has many more that the reader refuses. */
describe('a row that is malformed is refused by every endpoint, and nothing changes', () => {
  test.each<[string, string | Uint8Array]>([
    ['no end', '{"n":1'],
    ['an end too many', '{"n":1}}'],
    ['a comma too many', '{"n":1,}'],
    ['NaN', '{"n":NaN}'],
    ['a newline in a string', '{"s":"a\nb"}'],
    ['a key twice', '{"n":1,"n":1}'],
    ['an unknown key twice, once escaped', '{"zz":1,"\\u007az":1}'],
    ['$rowID twice', '{"$rowID":"x","$rowID":"x"}'],
    ['U+0000 in a column ID', '{"\\u0000":1}'],
    ['a lone surrogate in a column ID', '{"\\ud800":1}'],
    ['1e400 in a string column', '{"s":1e400}'],
    ['1e400, nested', '{"a":{"b":[1e400]}}'],
    ['invalid UTF-8 in a string', Buffer.concat([Buffer.from('{"s":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ['invalid UTF-8 in a column ID', Buffer.concat([Buffer.from('{"'), Buffer.from([0xff]), Buffer.from('":1}')])],
    ['nesting of 33', `{"a":${nested(33)}}`],
    ['nesting of 100,000 that never ends', `{"a":${'['.repeat(100_000)}`],
    ['an empty column ID', '{"":1}'],
    ['a column ID of 257 bytes', `{"${'x'.repeat(257)}":1}`],
    ['null', 'null'],
    ['nothing but a blank', ' , {}'],
  ])('every endpoint refuses a row with %s', (name, row) => expectRefused(name, row, false));
});

describe('a row with text that is not well-formed is refused by every endpoint, unless its cell may be dropped', () => {
  test.each<[string, string]>([
    ['U+0000 in a string', '{"s":"a\\u0000"}'],
    ['U+0000 in a nested string', '{"a":[{"b":"\\u0000"}]}'],
    ['U+0000 in a nested key', '{"a":{"\\u0000":1}}'],
    ['a lone high surrogate', '{"s":"\\ud800"}'],
    ['a lone low surrogate', '{"s":"\\udc00x"}'],
    ['surrogates in the wrong order', '{"s":"\\udc00\\ud800"}'],
    ['a lone surrogate in an array', '{"a":["\\ud83d"]}'],
  ])('every endpoint refuses a row with %s', (name, row) => expectRefused(name, row, true));
});

describe('an integer that a double cannot hold fits no number, and is stored as text in other types', () => {
  test.each(['9007199254740993', '-9007199254740993', '12345678901234567890', '1610521604143693812'])(
    '%s fits no number, and is stored as text in other types',
    async (token) => {
      const table = await createTable(client(), [{ n: 1 }], types);
      const path = `${table.path}/${table.rowIds[0]!}`;
      await leavingUnchanged(client(), table.path, async () => {
        const add = await client().post(table.path, `[{"n":${token}}]`);
        const patch = await client().patch(path, `{"n":${token}}`);
        expect([outcomeOf(add), outcomeOf(patch)]).toEqual([misfit, misfit]);
        expect(add.json.error.message).toBe(
          `rows[0].n: ${token} does not fit the column's type number: a 64-bit floating-point number cannot hold it exactly`,
        );
      });
      const dropped = await client().post(`${table.path}?onSchemaError=dropColumns`, `[{"n":${token},"s":"x"}]`);
      expect((await client().get(`${table.path}/${dropped.json.data.rowIDs[0]}`)).json.data).toEqual({
        s: 'x',
        $rowID: expect.anything(),
      });

      expect(outcomeOf(await client().patch(path, `{"s":${token}}`))).toBe('200');
      await client().post(table.path, `[{"s":${token}},{"s":4.20}]`);
      expect((await client().rows(table.id)).map(({ s }) => s)).toEqual([token, 'x', token, '4.20']);
      expect(outcomeOf(await client().patch(`${path}?onSchemaError=updateSchema`, `{"n":${token}}`))).toBe('200');
      expect((await client().get(path)).json.data).toMatchObject({ n: token, s: token });
    },
  );

  test('an inferred column with such an integer is text', async () => {
    const big = '1610521604143693812';
    const rows = `[{"id":1.50,"l":[1],"j":{}},{"id":${big},"l":[2.0,${big}],"j":[null,{"x":-${big}}]},{"id":true,"l":${big},"j":${big}}]`;
    const made = await client().post('/tables?name=big', rows);
    expect(outcomeOf(made)).toBe('201');
    const { tableID } = made.json.data;
    const {
      json: {
        data: { schema },
      },
    } = await client().get(`/tables/${tableID}`);
    expect(schema.columns.map(({ id, type }: { id: string; type: unknown }) => [id, type])).toEqual([
      ['id', 'string'],
      ['l', { kind: 'array', items: { kind: 'string' } }],
      ['j', 'json'],
    ]);
    expect(cellsOf(await client().rows(tableID))).toEqual([
      { id: '1.50', l: ['1'], j: {} },
      { id: big, l: ['2.0', big], j: [null, { x: `-${big}` }] },
      { id: 'true', l: [big], j: big },
    ]);
  });

  test.each([
    ['9007199254740992', 9007199254740992],
    ['-9007199254740991', -9007199254740991],
    ['9007199254740994', 9007199254740994],
    ['1e300', 1e300],
    ['5e-324', 5e-324],
    ['0.1', 0.1],
    ['-0', 0],
    ['1E+2', 100],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['1000000000000000000000', 1e21],
    ['0.12345678901234567890', 0.12345678901234568],
  ])('%s is held', async (token, value) => {
    const answer = await client().post('/tables?name=n', `[{"n":${token}}]`);
    const row = await client().get(`/tables/${answer.json.data.tableID}/rows/${answer.json.data.rowIDs[0]}`);
    expect(row.json.data.n + 0).toBe(value);
  });
});

describe('odd column IDs keep their place and their value', () => {
  const ids = [
    'b',
    '__proto__',
    '10',
    'constructor',
    '2',
    'a',
    'toString',
    '-0',
    'hasOwnProperty',
    '1e3',
    'é',
    '😀',
    'data',
    'error',
    '"\\',
  ];
  const columns = ids.map((id) => `{"id":${JSON.stringify(id)},"type":"number"}`).join(',');
  const reversed = ids
    .map((id, at) => `${JSON.stringify(id)}:${at}`)
    .toReversed()
    .join(',');
  const text = `{${ids.map((id, at) => `${JSON.stringify(id)}:${at}`).join(',')}`;
  const keysOf = (rowText: string): string[] =>
    [...rowText.matchAll(/"((?:[^"\\]|\\.)*)":/g)].map((match) => JSON.parse(`"${match[1]}"`) as string);

  test.each<[string, string]>([
    ['inferred', `{"name":"n","rows":[${text}}]}`],
    ['given', `{"name":"n","schema":{"columns":[${columns}]},"rows":[${text}}]}`],
    ['given, with the row in another order', `{"name":"n","schema":{"columns":[${columns}]},"rows":[{${reversed}}]}`],
  ])('odd column IDs keep their place with a schema that is %s', async (_, body) => {
    const created = await client().post('/tables', body);
    expect(outcomeOf(created)).toBe('201');
    const [rowId] = created.json.data.rowIDs;
    const path = `/tables/${created.json.data.tableID}/rows`;
    for (const answer of [await client().get(path), await client().get(`${path}/${rowId}`)]) {
      const rowText = answer.text.slice(answer.text.indexOf('{', 1));
      expect(keysOf(rowText).filter((key) => key !== '$rowID')).toEqual(ids);
      expect(rowText).toContain('"__proto__":1,');
    }
    expect(outcomeOf(await client().patch(`${path}/${rowId}`, '{"__proto__":50,"10":60,"constructor":null}'))).toBe(
      '200',
    );
    const patched = await client().get(`${path}/${rowId}`);
    expect(patched.text).toContain('"__proto__":50,"10":60,"2":4,');
    await client().post(path, '[{"constructor":7,"__proto__":8}]');
    expect((await client().get(path)).text).toMatch(/"__proto__":8,"constructor":7\b/);
  });

  test('odd column IDs that updateSchema appends keep their place and their value', async () => {
    const table = await createTable(client(), [{ z: 1 }]);
    await client().post(`${table.path}?onSchemaError=updateSchema`, '[{"5":1,"__proto__":2},{"1":3,"z":4,"5":6}]');
    const { text: page } = await client().get(table.path);
    expect(page).toMatch(/"5":1,"__proto__":2\b/);
    expect(page).toMatch(/"z":4,"5":6,"1":3\b/);
  });

  test('nested objects come back with their keys in order', async () => {
    const value = '{"b":1,"10":2,"2":{"__proto__":[{"constructor":null}]},"a":{}}';
    const created = await client().post('/tables?name=n', `[{"x":${value}}]`);
    expect((await client().get(`/tables/${created.json.data.tableID}/rows`)).text).toContain(`"x":${value}`);
  });

  test('__proto__ is an unknown property where no columns are expected', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    for (const body of ['{"__proto__":1,"rows":[]}', '{"constructor":1,"rows":[]}', '{"rows":[],"toString":1}']) {
      expect(outcomeOf(await client().post(table.path, body))).toBe(malformed);
      expect(outcomeOf(await client().post('/tables?name=n', body))).toBe(malformed);
    }
    expect(
      outcomeOf(await client().post('/tables', '{"name":"n","rows":[],"schema":{"columns":[],"__proto__":1}}')),
    ).toBe(malformed);
    expect(
      outcomeOf(
        await client().post(
          '/tables',
          '{"name":"n","rows":[],"schema":{"columns":[{"id":"a","type":{"__proto__":"string"}}]}}',
        ),
      ),
    ).toBe(malformed);
  });
});

describe('texts come back as they were', () => {
  test.each([
    ['escapes', '"\\"\\\\\\/\\b\\f\\n\\r\\t"'],
    ['a surrogate pair', '"\\ud83d\\ude00"'],
    ['U+2028', '"\u2028\u2029"'],
    ['the last code point', '"\\udbff\\udfff"'],
    ['not characters', '"\\uffff\\ufffe"'],
    ['control characters', '"\\u0001\\u001f\\u007f"'],
    ['a byte order mark', '"\ufeffx\ufeff"'],
    ['combining marks', '"e\u0301"'],
    ['the empty text', '""'],
    ['JSON', '"{\\"a\\":1}"'],
    ['SQL', '"\'; drop table rows; --"'],
    ['COPY', '"\\\\.\\n\\\\N\\t"'],
    ['long', JSON.stringify('😀é\\"'.repeat(10_000))],
  ])('a text comes back unchanged: %s', async (_, token) => {
    const created = await client().post('/tables?name=n', `[{"t":${token}},{"t":[${token}]},{"t":{"k":${token}}}]`);
    const single = await client().post('/tables?name=n', `[{"t":${token}}]`);
    const text: unknown = JSON.parse(token);
    const rows = await client().rows(created.json.data.tableID);
    expect(rows.map(({ t }) => t)).toEqual([text, [text], { k: text }]);
    expect((await client().rows(single.json.data.tableID)).map(({ t }) => t)).toEqual([text]);
  });

  test('a byte order mark before the body is skipped', async () => {
    expect(outcomeOf(await client().post('/tables?name=n', '\ufeff[{"a":1}]'))).toBe('201');
  });

  test('JSON that is nested 32 deep is accepted', async () => {
    const created = await client().post('/tables?name=n', `[{"a":${nested(30)}}]`);
    expect(outcomeOf(created)).toBe('201');
    expect((await client().get(`/tables/${created.json.data.tableID}/rows`)).text).toContain(`"a":${nested(30)}`);
  });
});

describe('bodies around their rows', () => {
  test.each<[string, string, string]>([
    ['blanks everywhere', ' \r\n\t[ { "n" : 1 } , {\n} ] \n', '201'],
    ['text after the end', '[{"n":1}]x', malformed],
    ['rows twice', '{"rows":[{"n":1}],"rows":[{"n":1}]}', malformed],
  ])('a body is taken or refused by what is around its rows: %s', async (_, body, outcome) => {
    const table = await createTable(client(), [{ n: 1 }], types);
    const act = async (): Promise<void> => {
      expect(outcomeOf(await client().post(table.path, body))).toBe(outcome);
    };
    if (outcome === '201') await act();
    else await leavingUnchanged(client(), table.path, act);
  });

  test('a create that repeats a member is refused', async () => {
    for (const body of [
      '{"name":"a","name":"a","rows":[]}',
      '{"name":"a","rows":[],"schema":{"columns":[]},"schema":{"columns":[]}}',
    ]) {
      expect(outcomeOf(await client().post('/tables', body))).toBe(malformed);
    }
  });

  test.each(['a\0', '\ud800', 'x'.repeat(1_000_000)])('an invalid name is refused, %#', async (name) => {
    const before = (await client().get('/tables')).text;
    expect((await client().post('/tables', { name, rows: [] })).status).toBe(400);
    expect((await client().get('/tables')).text).toBe(before);
  });

  test('a body that expands without end is cut off at the limit', async () => {
    const table = await createTable(client(), [{ n: 1 }], types);
    const bomb = gzipSync(gzipSync(Buffer.alloc(50_000_000, '[')));
    const flat = gzipSync(Buffer.alloc(200_000_000, '['));
    await leavingUnchanged(client(), table.path, async () => {
      expect(outcomeOf(await client().post(table.path, bomb, { 'content-encoding': 'gzip' }))).toBe(malformed);
      const answer = await client().post(table.path, flat, { 'content-encoding': 'gzip' });
      expect(answer.status === 413 || outcomeOf(answer) === malformed).toBe(true);
      expect(
        (await client().patch(`${table.path}/${table.rowIds[0]}`, flat, { 'content-encoding': 'gzip' })).status,
      ).toBe(413);
    });
  });
});

test.each<[string, string, unknown]>([
  ['GET', '/tables?__proto__=1', undefined],
  ['GET', '/tables?constructor=1', undefined],
  ['GET', '/tables?=1', undefined],
  ['POST', '/tables?name=%00', { rows: [] }],
  ['POST', '/tables?name=%ff', { rows: [] }],
  ['POST', '/tables?name=%zz', { rows: [] }],
  ['POST', '/tables?name=', { rows: [] }],
  ['POST', '/tables?name=n&appsToLink=%00', { rows: [] }],
  ['POST', '/tables?name[]=n', { rows: [] }],
  ['POST', `/tables?name=n&${'a'.repeat(4_000)}=1`, { rows: [] }],
  ['GET', `/tables/${unknownTableId}/rows?limit=${'9'.repeat(3_000)}&limit=1`, undefined],
  ['HEAD', `/tables/${unknownTableId}/rows?limit=1`, undefined],
])('%s %s is refused', async (method, path, body) => {
  const before = (await client().get('/tables')).text;
  expect((await client().send(path, { method, body })).status).toBe(400);
  expect((await client().get('/tables')).text).toBe(before);
});
