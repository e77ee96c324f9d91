/** The description of a table, and its names (docs/decisions/0009). deleted-table.test.ts tests its deletion. */
import { gzipSync } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import {
  arrayOf,
  cellsOf,
  createTable,
  leavingUnchanged,
  schemaOf,
  unknownTableId,
  type MadeTable,
} from '../support/tables.ts';

const { client } = useApi();
const malformed = '400 request_validation_error';
const noTable = '404 table_not_found';

async function look({ id }: Pick<MadeTable, 'id'>): Promise<Record<string, unknown>> {
  return (await client().get(`/tables/${id}`)).json.data;
}

describe('a table', () => {
  test('shows the name and schema of its creation', async () => {
    const columns = [
      { id: 'b', displayName: 'Bé "1"', type: 'number' },
      { id: '10', type: arrayOf('date') },
      { id: 'a', type: 'json' },
      { id: '__proto__', type: 'emailAddress' },
    ];
    const body = { name: 'ä 😀', schema: { columns }, rows: [{ b: 1 }, {}], appsToLink: ['z', 'ä', 'b', 'z'] };
    const made = await client().post('/tables', body);
    const answer = await client().get(`/tables/${made.json.data.tableID}`);
    const { created, ...rest } = answer.json.data;
    expect(rest).toEqual({
      id: made.json.data.tableID,
      name: 'ä 😀',
      version: String(made.version),
      rows: 2,
      schema: { columns },
      appIDs: ['b', 'z', 'ä'],
    });
    expect(answer.version).toBe(made.version);
    // The time of a log never falls.
    const { created: later } = await look(await createTable(client(), []));
    expect(Date.parse(later as string)).toBeGreaterThanOrEqual(Date.parse(created));
  });

  test('shows a schema that can create another table', async () => {
    const first = await createTable(client(), [{ a: [1], b: 'x', c: { k: 1 }, d: true, e: '2026-01-01' }]);
    const { schema } = await look(first);
    const made = await client().post('/tables', { name: 'copy', schema, rows: [] });
    expect((await look({ id: made.json.data.tableID }))['schema']).toEqual(schema);
    expect(schema).toEqual(schemaOf({ a: arrayOf('number'), b: 'string', c: 'json', d: 'boolean', e: 'date' }));
  });

  test('shows the result of all writes', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    const { created } = await look(table);
    const { version } = await client().post(`${table.path}?onSchemaError=updateSchema`, [{ a: 'x', n: 1 }]);
    expect(await look(table)).toEqual({
      id: table.id,
      name: 'test',
      version: String(version),
      created,
      rows: 3,
      schema: schemaOf({ a: 'string', n: 'number' }),
      appIDs: [],
    });
    const deleted = await client().delete(`${table.path}/${table.rowIds[0]}`);
    expect(await look(table)).toMatchObject({ version: String(deleted.version), created, rows: 2 });
  });

  test('shows columns of the type `url` as `uri`', async () => {
    const table = await createTable(client(), [], { a: 'url', b: { kind: 'array', items: { kind: 'url' } } });
    expect(await look(table)).toMatchObject({ schema: schemaOf({ a: 'uri', b: arrayOf('uri') }) });
  });

  test('shows its columns if it is empty', async () => {
    expect(await look(await createTable(client(), [], { a: 'uri' }))).toMatchObject({
      rows: 0,
      schema: schemaOf({ a: 'uri' }),
    });
    expect(await look(await createTable(client(), []))).toMatchObject({ rows: 0, schema: { columns: [] } });
  });

  test('answers HEAD as GET, without a body', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const [head, get] = await Promise.all([client().head(`/tables/${table.id}`), client().get(`/tables/${table.id}`)]);
    expect([head.status, head.version, head.text]).toEqual([200, get.version, '']);
    expect((await client().head(`/tables/${unknownTableId}`)).status).toBe(404);
  });

  test.each<[string, string]>([
    [`/tables/${unknownTableId}`, noTable],
    ['/tables/x', noTable],
    ['/tables/', noTable],
    [`/tables/${'x'.repeat(5_000)}`, noTable],
    ['/tables/%00', noTable],
    [`/tables/${unknownTableId.toUpperCase()}`, noTable],
    [`/tables/${unknownTableId}?a=1`, malformed],
    ['/tables/x?limit=1', malformed],
  ])('GET %s is %s', async (path, outcome) => expect(outcomeOf(await client().get(path))).toBe(outcome));
});

describe('a patch of a table', () => {
  test('gives the table a new name and a new version', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const { created } = await look(table);
    const answer = await client().patch(`/tables/${table.id}`, { name: 'ñ 😀' });
    expect([outcomeOf(answer), answer.json]).toEqual(['200', {}]);
    expect(answer.version! > table.version).toBe(true);
    expect(await look(table)).toMatchObject({ name: 'ñ 😀', version: String(answer.version), created, rows: 1 });
    expect((await client().get('/tables')).json.data).toContainEqual({ id: table.id, name: 'ñ 😀' });
    expect((await client().head(table.path)).version).toBe(answer.version);
  });

  test('sets the display names of columns, and removes them', async () => {
    const table = await createTable(client(), [{ a: 1, b: 'x' }]);
    const path = `/tables/${table.id}`;
    const columnsAfter = async (columns: unknown): Promise<unknown> => {
      expect(outcomeOf(await client().patch(path, { columns }))).toBe('200');
      return ((await look(table))['schema'] as { columns: unknown }).columns;
    };
    const [a, b] = [
      { id: 'a', type: 'number' },
      { id: 'b', type: 'string' },
    ];
    expect(await columnsAfter([{ id: 'b', displayName: 'Beta' }])).toEqual([a, { ...b, displayName: 'Beta' }]);
    expect(await columnsAfter([{ id: 'a', displayName: 'Beta' }])).toEqual([
      { ...a, displayName: 'Beta' },
      { ...b, displayName: 'Beta' },
    ]);
    expect(
      await columnsAfter([
        { id: 'b', displayName: null },
        { id: 'a', displayName: 'A' },
      ]),
    ).toEqual([{ ...a, displayName: 'A' }, b]);
    expect(await columnsAfter([{ id: 'a', displayName: null }])).toEqual([a, b]);
  });

  test('does not change existing or later rows', async () => {
    const table = await createTable(client(), [{ a: 1, b: 'x' }, { a: 2 }]);
    const rows = await client().rows(table.id);
    const version = async (): Promise<unknown> => (await client().get(`${table.path}/${table.rowIds[0]}`)).version;
    const before = await version();
    await client().patch(`/tables/${table.id}`, { name: 'other', columns: [{ id: 'a', displayName: 'Alpha' }] });
    expect(await client().rows(table.id)).toEqual(rows);
    expect(await version()).toBe(before);
    await client().post(table.path, [{ a: 3 }]);
    await client().patch(`${table.path}/${table.rowIds[1]}`, { b: 'y' });
    await client().post(`${table.path}?onSchemaError=updateSchema`, [{ a: 'wide' }]);
    expect(cellsOf(await client().rows(table.id))).toEqual([
      { a: '1', b: 'x' },
      { a: '2', b: 'y' },
      { a: '3' },
      { a: 'wide' },
    ]);
    expect((await look(table))['schema']).toEqual({
      columns: [
        { id: 'a', displayName: 'Alpha', type: 'string' },
        { id: 'b', type: 'string' },
      ],
    });
  });

  test.each<[string, unknown]>([
    ['nothing', {}],
    ['no columns', { columns: [] }],
    ['the same name', { name: 'test' }],
    ['no display name where there is none', { columns: [{ id: 'a', displayName: null }] }],
  ])('to %s changes no version', async (_, body) => {
    const table = await createTable(client(), [{ a: 1 }]);
    const answer = await leavingUnchanged(client(), table.path, () => client().patch(`/tables/${table.id}`, body));
    expect([outcomeOf(answer), answer.version]).toEqual(['200', table.version]);
  });

  test.each<[string, string | Uint8Array]>([
    ['no body', ''],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['rows', '[{"a":1}]'],
    ['a text', '"a"'],
    ['null', 'null'],
    ['an unknown property', '{"name":"n","x":1}'],
    ['__proto__', '{"__proto__":{"name":"n"}}'],
    ['rows in it', '{"rows":[]}'],
    ['an ID', `{"id":"${unknownTableId}"}`],
    ['a schema', '{"schema":{"columns":[]}}'],
    ['a key twice', '{"name":"n","name":"m"}'],
    ['no text for a name', '{"name":1}'],
    ['no name', '{"name":null}'],
    ['an empty name', '{"name":""}'],
    ['too long a name', `{"name":"${'x'.repeat(1025)}"}`],
    ['U+0000', '{"name":"a\\u0000"}'],
    ['half a character', '{"name":"\\ud800"}'],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
    ['no list of columns', '{"columns":{}}'],
    ['columns by ID', '{"columns":{"a":"A"}}'],
    ['null for columns', '{"columns":null}'],
    ['a column that is no object', '{"columns":["a"]}'],
    ['a column without an ID', '{"columns":[{"displayName":"A"}]}'],
    ['a column without a name', '{"columns":[{"id":"a"}]}'],
    ['an empty display name', '{"columns":[{"id":"a","displayName":""}]}'],
    ['a display name that is no text', '{"columns":[{"id":"a","displayName":5}]}'],
    ['an unknown type', '{"columns":[{"id":"a","displayName":"A","type":"text"}]}'],
    ['an ID that is no text', '{"columns":[{"id":1,"displayName":"A"}]}'],
    [
      'too many columns',
      JSON.stringify({ columns: Array.from({ length: 1001 }, (_, n) => ({ id: `c${n}`, displayName: 'x' })) }),
    ],
    ['something behind it', '{"name":"n"} x'],
  ])('is refused when it is malformed: %s', async (_, body) => {
    const table = await createTable(client(), [{ a: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await client().patch(`/tables/${table.id}`, body);
      expect(answer.status).toBe(400);
      expect(outcomeOf(await client().patch(`/tables/${unknownTableId}`, body))).toBe(outcomeOf(answer));
    });
  });

  test('is refused with another Content-Type, an unknown query, or two If-Match', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const path = `/tables/${table.id}`;
    await leavingUnchanged(client(), table.path, async () => {
      expect(outcomeOf(await client().patch(path, '{}', { 'content-type': 'text/plain' }))).toBe(malformed);
      expect(outcomeOf(await client().patch(`${path}?onSchemaError=abort`, {}))).toBe(malformed);
      expect(
        outcomeOf(await client().patch(path, { name: 'n' }, { 'if-match': `"${table.version}", "${table.version}"` })),
      ).toBe(malformed);
      expect(outcomeOf(await client().delete(path, { 'if-match': `"${table.version}", "${table.version}"` }))).toBe(
        malformed,
      );
      expect(outcomeOf(await client().delete(`${path}?force=true`))).toBe(malformed);
    });
  });

  test.each<[string, unknown, string, string]>([
    [
      'an unknown column',
      { name: 'n', columns: [{ id: 'z', displayName: 'Z' }] },
      '422 column_id_not_found',
      'columns[0].id: the table has no column "z"',
    ],
    [
      'a column twice',
      {
        columns: [
          { id: 'a', displayName: 'A' },
          { id: 'a', displayName: 'B' },
        ],
      },
      '422 column_id_not_unique',
      'columns[1].id: the column ID "a" occurs twice',
    ],
  ])('is refused whole: %s', async (_, body, outcome, message) => {
    const table = await createTable(client(), [{ a: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await client().patch(`/tables/${table.id}`, body);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
    });
  });

  test('is refused if it is larger than members or a body may be', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const path = `/tables/${table.id}`;
    // The maximum of columns, with IDs and names of maximum length.
    const columns = Array.from({ length: 1000 }, () => ({
      id: randomBytes(128).toString('hex'),
      displayName: randomBytes(512).toString('hex'),
    }));
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await client().patch(path, { columns });
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([
        '400 limit_exceeded',
        'everything but the rows must not be longer than 1048576 bytes',
      ]);
      expect(outcomeOf(await client().patch(path, `{"name":"n"}${' '.repeat(15_000_000)}`))).toBe(
        '413 payload_too_large',
      );
    });
  });

  test('may be compressed', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const body = gzipSync('{"name":"packed"}');
    expect(outcomeOf(await client().patch(`/tables/${table.id}`, body, { 'content-encoding': 'gzip' }))).toBe('200');
    expect(await look(table)).toMatchObject({ name: 'packed' });
  });

  test('is refused if the table has changed since its If-Match', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const headers = { 'if-match': `"${table.version}"` };
    const answers = await Promise.all(
      ['x', 'y', 'z'].map((name) => client().patch(`/tables/${table.id}`, { name }, headers)),
    );
    expect(answers.map(outcomeOf).toSorted()).toEqual(['200', '412 precondition_failed', '412 precondition_failed']);
  });

  test('is a change for writers that add rows with If-Match, and not for those that patch rows', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await client().patch(`/tables/${table.id}`, { name: 'other' });
    const seen = { 'if-match': `"${table.version}"` };
    expect(outcomeOf(await client().post(table.path, [{ a: 2 }], seen))).toBe('412 precondition_failed');
    expect(outcomeOf(await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 2 }, seen))).toBe('200');
  });
});
