/** Spec 4.2, decisions 3. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { arrayOf, cellsOf, schemaOf } from '../support/tables.ts';

const { client, api } = useApi();

const name = 'n';
const malformed = '400 request_validation_error';
const columns = (...ids: string[]): object => schemaOf(Object.fromEntries(ids.map((id) => [id, 'string'])));
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `c${index}`);
const typed = (type: unknown): object => ({ name, rows: [], schema: { columns: [{ id: 'a', type }] } });
const id = (columnId: unknown): object => ({ name, rows: [], schema: { columns: [{ id: columnId, type: 'string' }] } });

describe('a body and its query', () => {
  test.each<[string, unknown, string]>([
    ['', { name, rows: [] }, '201'],
    ['', { name, rows: [{}] }, '201'],
    ['', { name, rows: [{ a: 1 }, { b: 'x' }] }, '201'],
    ['', { rows: [{ a: 1 }], name }, '201'],
    ['?name=n', { rows: [] }, '201'],
    ['?name=n', [], '201'],
    ['?name=n', [{ a: 1 }], '201'],
    ['?name=%C3%A4%20%F0%9F%98%80', [], '201'],
    ['', { name, rows: [], schema: { columns: [] } }, '201'],
    ['', { name, rows: [], schema: columns('a'), appsToLink: [] }, '201'],
    ['?onSchemaError=abort', { name, rows: [] }, '201'],
    ['?onSchemaError=dropColumns', { name, rows: [] }, '201'],
    ['?onSchemaError=updateSchema', { name, rows: [] }, '201'],
    ['', { rows: [] }, malformed],
    ['', [], malformed],
    ['', [{ a: 1 }], malformed],
    ['?name=n', { name, rows: [] }, malformed],
    ['?name=n&name=m', { rows: [] }, malformed],
    ['', { name }, malformed],
    ['', {}, malformed],
    ['?name=n', {}, malformed],
    ['', { name, rows: null }, malformed],
    ['', { name, rows: {} }, malformed],
    ['', { name, rows: 'x' }, malformed],
    ['', { name: 1, rows: [] }, malformed],
    ['', { name: null, rows: [] }, malformed],
    ['', { name, rows: [], extra: 1 }, malformed],
    ['', { name, rows: [null] }, malformed],
    ['', { name, rows: [[]] }, malformed],
    ['', { name, rows: [{}, 'x'] }, malformed],
    ['', '"text"', malformed],
    ['', 'null', malformed],
    ['', '1', malformed],
    ['', '', malformed],
    ['', { name, rows: [], appsToLink: 'a' }, malformed],
    ['', { name, rows: [], appsToLink: [1] }, malformed],
    ['?onSchemaError=ABORT', { name, rows: [] }, malformed],
    ['?onSchemaError=', { name, rows: [] }, malformed],
    ['?onSchemaError=abort&onSchemaError=abort', { name, rows: [] }, malformed],
    ['?colour=red', { name, rows: [] }, malformed],
    ['', { name, rows: { $stashID: 'never-was' } }, '400 stash_not_found'],
    ['', { name, rows: { $stashID: 'never-was' }, schema: columns('a') }, '201'],
    ['', { name, rows: { $stashID: '_x' }, schema: columns('a') }, malformed],
    ['', { name, rows: { $stashID: '-x' } }, malformed],
    ['', { name, rows: { $stashID: '' } }, malformed],
    ['', { name, rows: { $stashID: 1 } }, malformed],
    ['', { name, rows: { $stashID: 'x'.repeat(256) } }, '400 stash_not_found'],
    ['', { name, rows: { $stashID: 'x'.repeat(257) } }, malformed],
    ['', { name, rows: { $stashID: 'x', more: 1 } }, malformed],
  ])('POST /tables%s %j is %s', async (query, body, outcome) => {
    expect(outcomeOf(await client().post(`/tables${query}`, body))).toBe(outcome);
  });
});

describe('a schema', () => {
  test.each<[unknown, string]>([
    [null, malformed],
    [[], malformed],
    [{}, malformed],
    [{ columns: {} }, malformed],
    [{ columns: [], more: 1 }, malformed],
    [{ columns: [1] }, malformed],
    [{ columns: [{ id: 'a' }] }, malformed],
    [{ columns: [{ type: 'string' }] }, malformed],
    [{ columns: [{ id: 'a', type: 'string', more: 1 }] }, malformed],
    [{ columns: [{ id: 'a', type: 'string', displayName: 1 }] }, malformed],
    [{ columns: [{ id: 'a', type: 'string', displayName: 'The A' }] }, '201'],
    [columns('a', 'b'), '201'],
    [columns('$stashID'), '422 column_id_reserved'],
    [columns('a', '$rowID'), '422 column_id_reserved'],
    [
      {
        columns: [
          { id: 'a', type: 'string' },
          { id: 'a', type: 'number' },
        ],
      },
      '422 column_id_not_unique',
    ],
    [columns(...numbered(1000)), '201'],
    [columns(...numbered(1001)), '400 limit_exceeded'],
  ])('the schema of case %# is %s', async (schema, outcome) => {
    expect(outcomeOf(await client().post('/tables', { name, schema, rows: [] }))).toBe(outcome);
  });

  test.each<[unknown, string]>([
    ...[
      'string',
      'uri',
      'imageURI',
      'audioURI',
      'markdown',
      'phoneNumber',
      'emailAddress',
      'emoji',
      'date',
      'time',
      'dateTime',
      'duration',
      'number',
      'boolean',
      'json',
    ].flatMap((kind): [unknown, string][] => [
      [kind, '201'],
      [{ kind }, '201'],
      [arrayOf(kind), '201'],
    ]),
    ['text', malformed],
    ['String', malformed],
    ['array', malformed],
    ['__proto__', malformed],
    [1, malformed],
    [null, malformed],
    [['string'], malformed],
    [{}, malformed],
    [{ kind: 'text' }, malformed],
    [{ kind: 'string', more: 1 }, malformed],
    [{ kind: 'string', items: { kind: 'string' } }, malformed],
    [{ kind: 'array' }, malformed],
    [{ kind: 'array', items: 'string' }, malformed],
    [{ kind: 'array', items: { kind: 'text' } }, malformed],
    [{ kind: 'array', items: { kind: 'array', items: { kind: 'string' } } }, malformed],
    [{ kind: 'array', items: { kind: 'string' }, more: 1 }, malformed],
  ])('the column type %j is %s', async (type, outcome) => {
    expect(outcomeOf(await client().post('/tables', typed(type)))).toBe(outcome);
  });

  test.each<[string, unknown, string]>([
    ['empty', '', '400'],
    ['a number', 1, '400'],
    ['null', null, '400'],
    ['256 bytes', 'x'.repeat(256), '201'],
    ['257 bytes', 'x'.repeat(257), '400'],
    ['256 bytes in 128 characters', 'é'.repeat(128), '201'],
    ['258 bytes in 129 characters', 'é'.repeat(129), '400'],
    ['blank', ' ', '201'],
    ['with quotes, newlines and dots', '"\n\r\t.\\[]', '201'],
    ['U+0000', 'a\0', '400'],
  ])('a column ID that is %s is %s', async (_, columnId, status) => {
    expect(String((await client().post('/tables', id(columnId))).status)).toBe(status);
  });
});

describe('the message names the place of the error', () => {
  test.each<[string, unknown, string]>([
    ['', { name, rows: [{}, {}, { a: 1, b: 1 }, 7] }, 'rows[3]'],
    ['?onSchemaError=no', { name, rows: [] }, 'query.onSchemaError'],
    ['?colour=red', { name, rows: [] }, 'query.colour'],
    ['', { name, rows: [], schema: { columns: [{ id: 'a', type: 'x' }] } }, 'schema.columns[0].type'],
    ['', { name, rows: [], colour: 1 }, 'colour'],
  ])('POST /tables%s %j names %s', async (query, body, place) => {
    const answer = await client().post(`/tables${query}`, body);
    expect(answer.status).toBe(400);
    expect(answer.json.error.message).toContain(place);
  });
});

describe('linked apps', () => {
  test.each<[string, object, string[] | undefined]>([
    ['', {}, undefined],
    ['', { appsToLink: [] }, undefined],
    ['', { appsToLink: ['a'] }, ['a']],
    ['', { appsToLink: ['b', 'a', 'b'] }, ['b', 'a']],
    ['?appsToLink=a', {}, ['a']],
    ['?appsToLink=a&appsToLink=b', {}, ['a', 'b']],
    ['?appsToLink=a,b', {}, ['a', 'b']],
    ['?appsToLink=a,b&appsToLink=c', { appsToLink: ['c', 'd'] }, ['a', 'b', 'c', 'd']],
  ])('creating with the query %s and the members %j links the apps', async (query, members, linked) => {
    const { json } = await client().post(`/tables${query}`, { name, rows: [], ...members });
    expect(json.data.linkedAppIDs?.toSorted()).toEqual(linked?.toSorted());
  });
});

describe('the first rows of a table', () => {
  test('come back under their IDs, in order, without empty columns', async () => {
    const rows = [{ a: 1, b: 'x' }, {}, { b: 'y' }, { a: null, b: null }, { b: 'z', a: 2.5 }];
    const { json } = await client().post('/tables', { name, rows });
    const listed = await client().rows(json.data.tableID);
    expect(listed.map((row) => row['$rowID'])).toEqual(json.data.rowIDs);
    expect(new Set(json.data.rowIDs).size).toBe(rows.length);
    expect(cellsOf(listed)).toEqual([{ a: 1, b: 'x' }, {}, { b: 'y' }, {}, { b: 'z', a: 2.5 }]);
  });

  test('get IDs from the service, whatever $rowID they contain', async () => {
    const rows = [
      { $rowID: 'x', a: 1 },
      { a: 2, $rowID: 7 },
    ];
    const { json } = await client().post('/tables', { name, rows });
    expect(cellsOf(await client().rows(json.data.tableID))).toEqual([{ a: 1 }, { a: 2 }]);
  });

  const schema = schemaOf({ a: 'number' });
  test.each<[string, object, string, unknown]>([
    ['abort', { schema, rows: [{ a: 1 }, { a: 'x' }] }, '422 column_has_invalid_value', null],
    ['abort', { schema, rows: [{ a: 1, b: 1 }] }, '422 column_id_not_found', null],
    ['abort', { schema, rows: [{ b: null }] }, '422 column_id_not_found', null],
    ['abort', { schema, rows: [{ $stashID: 1 }] }, '422 column_id_reserved', null],
    ['abort', { rows: [{ $stashID: 1 }] }, '422 column_id_reserved', null],
    ['updateSchema', { schema, rows: [{ $stashID: 1 }] }, '422 column_id_reserved', null],
    ['dropColumns', { schema, rows: [{ $stashID: 1, a: 1 }] }, '201', [{ a: 1 }]],
    ['dropColumns', { schema, rows: [{ a: 'x', b: 1 }, { a: 2 }] }, '201', [{}, { a: 2 }]],
    ['updateSchema', { schema, rows: [{ a: 1, b: 2 }, { a: 'x' }] }, '201', [{ a: '1', b: 2 }, { a: 'x' }]],
    ['abort', { rows: [Object.fromEntries(numbered(1000).map((key) => [key, 1]))] }, '201', undefined],
    ['abort', { rows: [Object.fromEntries(numbered(1001).map((key) => [key, 1]))] }, '400 limit_exceeded', null],
    ['abort', { rows: [{ a: 'x'.repeat(255 * 1024) }] }, '201', undefined],
    ['abort', { rows: [{ a: 'x'.repeat(257 * 1024) }] }, '400 limit_exceeded', null],
    ['abort', { rows: [{ a: 'x'.repeat(250_000), b: 'x'.repeat(250_000) }] }, '201', undefined],
    [
      'abort',
      { rows: [{ a: 'x'.repeat(200_000), b: 'x'.repeat(200_000), c: 'x'.repeat(200_000) }] },
      '400 limit_exceeded',
      null,
    ],
  ])('the rows of case %# are taken or refused under %s', async (mode, body, outcome, cells) => {
    const { client: alone } = await api().createTeam();
    const answer = await alone.post(`/tables?onSchemaError=${mode}`, { name, ...body });
    expect(outcomeOf(answer)).toBe(outcome);
    if (cells === null) expect((await alone.get('/tables')).json.data).toEqual([]);
    else if (cells !== undefined) expect(cellsOf(await alone.rows(answer.json.data.tableID))).toEqual(cells);
  });

  test('the ETag is the version of the table', async () => {
    const answer = await client().post('/tables', { name, rows: [{ a: 1 }] });
    const { version } = await client().head(`/tables/${answer.json.data.tableID}/rows`);
    expect(version).toBe(answer.version);
  });
});
