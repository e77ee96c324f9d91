/** Spec 4.12, decisions 3. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { cellsOf, createTable, leavingUnchanged, stateOf, unknownTableId } from '../support/tables.ts';

const { client } = useOwnApi({ ROWS_PER_TABLE_MAX: '30000' });
const malformed = '400 request_validation_error';
const numbered = (count: number, from = 0): { n: number }[] =>
  Array.from({ length: count }, (_, index) => ({ n: from + index }));

test.each<[string, unknown, string]>([
  ['', [{ a: 1 }], '201'],
  ['', { rows: [{ a: 1 }] }, '201'],
  ['?onSchemaError=abort', [{ a: 1 }], '201'],
  ['', [{}], '201'],
  ['', [{ a: null }], '201'],
  ['', [{ a: 1, $rowID: 'anything' }], '201'],
  ['', { rows: [{ a: 1 }], more: 1 }, malformed],
  ['', {}, malformed],
  ['', { rows: null }, malformed],
  ['', { rows: { $stashID: 'x' } }, malformed],
  ['', { $stashID: 'x', rows: [] }, malformed],
  ['', { $stashID: '_x' }, malformed],
  ['', { $stashID: 'never-was' }, '400 stash_not_found'],
  ['', [1], malformed],
  ['', '', malformed],
  ['?name=n', [{ a: 1 }], malformed],
  ['?onSchemaError=no', [{ a: 1 }], malformed],
  ['', [{ a: 'x' }], '422 column_has_invalid_value'],
  ['', [{ b: 1 }], '422 column_id_not_found'],
  ['', [{ b: null }], '422 column_id_not_found'],
  ['', [{ $stashID: null }], '422 column_id_reserved'],
  ['?onSchemaError=updateSchema', [{ $stashID: 1 }], '422 column_id_reserved'],
  ['?onSchemaError=dropColumns', [{ a: 'x', b: 1, $stashID: 1 }], '201'],
  ['?onSchemaError=updateSchema', [{ a: 'x', b: 1 }], '201'],
  ['', [{ a: 'x'.repeat(257 * 1024) }], '422 column_has_invalid_value'],
  ['?onSchemaError=updateSchema', [{ a: 'x'.repeat(257 * 1024) }], '400 limit_exceeded'],
])('POST rows%s %# is %s', async (query, body, outcome) => {
  const table = await createTable(client(), [{ a: 0 }], { a: 'number' });
  const add = async (): Promise<void> => {
    const answer = await client().post(`${table.path}${query}`, body);
    expect(outcomeOf(answer)).toBe(outcome);
    if (answer.status === 201) expect(answer.json.data.rowIDs).toHaveLength(1);
  };
  if (outcome === '201') await add();
  else await leavingUnchanged(client(), table.path, add);
});

test.each<[unknown, string]>([
  [{}, 'rows: required'],
  [{ row: [{ a: 1 }] }, 'the body: must not have "row". Rows come in an array: send one row as [{...}]'],
  [{ a: 1 }, 'the body: must not have "a". Rows come in an array: send one row as [{...}]'],
  [{ rows: { a: 1 } }, 'rows: must be an array: send one row as [{...}]'],
  [{ rows: [{ a: 1 }], more: 1 }, 'the body: there is no property "more"'],
  [{ rows: null }, 'rows: must be an array of rows. To add the rows of a stash, send only {"$stashID": ...}'],
  [{ rows: 'a' }, 'rows: must be an array of rows. To add the rows of a stash, send only {"$stashID": ...}'],
  [
    { rows: { $stashID: 'x' } },
    'rows: must be an array of rows. To add the rows of a stash, send only {"$stashID": ...}',
  ],
  [{ $stashID: 'x', rows: [] }, 'the body: there is no property "$stashID"'],
  [{ $stashID: 'x', more: 1 }, 'the body: there is no property "more"'],
  [
    { $stashID: '_x' },
    '$stashID: must begin with a letter or digit and have at most 256 letters, digits, dashes and underscores',
  ],
  ['7', 'the body must be an object or an array of rows'],
])('%j is told what is wrong with it', async (body, message) => {
  const table = await createTable(client(), [{ a: 0 }]);
  const answer = await client().post(table.path, body);
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([malformed, message]);
});

test.each<[unknown, string]>([
  [[{ a: 1 }], '404 table_not_found'],
  [[], '404 table_not_found'],
  [{ $stashID: 'never-was' }, '404 table_not_found'],
  ['[', malformed],
  [[1], malformed],
])('an unknown table with %j is %s', async (body, outcome) => {
  expect(outcomeOf(await client().post(`/tables/${unknownTableId}/rows`, body))).toBe(outcome);
});

test.each([[[]], [{ rows: [] }]])('adding %j changes no version', async (body) => {
  const table = await createTable(client(), [{ a: 0 }]);
  const answer = await leavingUnchanged(client(), table.path, () => client().post(table.path, body));
  expect([outcomeOf(answer), answer.json, answer.version]).toEqual(['201', { data: { rowIDs: [] } }, table.version]);
});

test('If-Match is compared with the version of the table', async () => {
  const table = await createTable(client(), [{ a: 0 }]);
  const add = (version: bigint): Promise<string> =>
    client()
      .post(table.path, [{ a: 1 }], { 'if-match': `"${version}"` })
      .then(outcomeOf);
  expect(await add(table.version)).toBe('201');
  await leavingUnchanged(client(), table.path, async () => {
    expect(await add(table.version)).toBe('412 precondition_failed');
  });
  await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 5 });
  const { version } = await client().head(table.path);
  expect(await add(version! - 1n)).toBe('412 precondition_failed');
  expect(await add(version!)).toBe('201');
});

test('rows are listed in the order in which they took effect, whether they are few or many', async () => {
  const table = await createTable(client(), []);
  const sent: { n: number }[] = [];
  const ids: string[] = [];
  for (const count of [3, 150, 1, 12_000, 2, 40, 99, 100, 101, 1]) {
    const rows = numbered(count, sent.length);
    const answer = await client().post(`${table.path}?onSchemaError=updateSchema`, rows);
    sent.push(...rows);
    ids.push(...answer.json.data.rowIDs);
  }
  const listed = await client().rows(table.id, 7_000);
  expect(listed).toEqual(sent.map((row, index) => ({ ...row, $rowID: ids[index] })));
});

test('if rows are added in parallel, all of them are there, and the rows of one write are together', async () => {
  const table = await createTable(client(), [], { n: 'number' });
  const writes = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      client().post(table.path, numbered(index % 2 === 0 ? 3 : 120, 1000 * index)),
    ),
  );
  const listed = await client().rows(table.id);
  const places = new Map(listed.map((row, index) => [row['$rowID'], index]));
  expect(listed).toHaveLength(20 * 123);
  for (const [index, { json }] of writes.entries()) {
    const ids: string[] = json.data.rowIDs;
    const first = places.get(ids[0])!;
    expect(ids.map((id) => places.get(id))).toEqual(ids.map((_, at) => first + at));
    expect(ids.map((_, at) => listed[first + at]!['n'])).toEqual(ids.map((_, at) => 1000 * index + at));
  }
});

test('a body of many blocks takes effect in one step', async () => {
  const table = await createTable(client(), []);
  const rows = numbered(4_000).map((row) => ({ ...row, text: `${row.n} `.repeat(100), even: row.n % 2 === 0 }));
  const answer = await client().post(`${table.path}?onSchemaError=updateSchema`, rows);
  expect(outcomeOf(answer)).toBe('201');
  const listed = await client().rows(table.id);
  expect(cellsOf(listed)).toEqual(rows);
  expect(listed.map((row) => row['$rowID'])).toEqual(answer.json.data.rowIDs);
  expect((await client().head(table.path)).version).toBe(answer.version);
});

test.each<[string, (rows: object[]) => void, string]>([
  [
    'a mismatch',
    (rows) => {
      rows[3_900] = { n: 'x' };
    },
    '422 column_has_invalid_value',
  ],
  [
    'an unknown column',
    (rows) => {
      rows[3_900] = { m: 1 };
    },
    '422 column_id_not_found',
  ],
  [
    'something that is no row',
    (rows) => {
      (rows as unknown[])[3_900] = 5;
    },
    malformed,
  ],
])('a body of many blocks with %s near its end does nothing at all', async (_, spoil, outcome) => {
  const table = await createTable(client(), [{ n: 0, text: 'x' }]);
  const rows = numbered(4_000).map((row) => ({ ...row, text: 'x'.repeat(300) }));
  spoil(rows);
  await leavingUnchanged(client(), table.path, async () => {
    const answer = await client().post(table.path, rows);
    expect(outcomeOf(answer)).toBe(outcome);
    expect(answer.json.error.message).toContain('rows[3900]');
  });
});

describe('the size of a body', () => {
  const row = { a: 'x'.repeat(1_000) };
  const large = JSON.stringify(Array.from({ length: 14_900 }, () => row));

  test('a body of up to 15 MB is accepted', async () => {
    const table = await createTable(client(), []);
    expect(Buffer.byteLength(large)).toBeLessThan(15_100_000);
    const fitting = JSON.stringify(Array.from({ length: 14_700 }, () => row));
    expect(Buffer.byteLength(fitting)).toBeLessThan(15_000_000);
    expect(outcomeOf(await client().post(`${table.path}?onSchemaError=updateSchema`, fitting))).toBe('201');
  });

  test.each<[string, () => { body: unknown; encoding?: string }]>([
    ['plain', () => ({ body: large })],
    ['inflating from gzip', () => ({ body: gzipSync(large), encoding: 'gzip' })],
    ['inflating from brotli', () => ({ body: brotliCompressSync(Buffer.alloc(40_000_000, ' ')), encoding: 'br' })],
    ['inflating from zstd', () => ({ body: zstdCompressSync(Buffer.alloc(40_000_000, ' ')), encoding: 'zstd' })],
  ])('over 15 MB, %s, is 413', async (_, make) => {
    const table = await createTable(client(), [{ a: 'x' }]);
    const { body, encoding } = make();
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await client().post(table.path, body, encoding ? { 'content-encoding': encoding } : {});
      expect(outcomeOf(answer)).toBe('413 payload_too_large');
    });
  });
});

test.each<[string, (text: string) => Uint8Array, string]>([
  ['gzip', gzipSync, '201'],
  ['br', brotliCompressSync, '201'],
  ['zstd', zstdCompressSync, '201'],
  ['gzip', (text) => Buffer.from(text), malformed],
  ['br', (text) => Buffer.from(text), malformed],
  ['zstd', (text) => Buffer.from(text), malformed],
  ['gzip', (text) => gzipSync(text).subarray(0, -9), malformed],
  ['lzma', (text) => Buffer.from(text), malformed],
])('a body with Content-Encoding %s is decompressed or refused: %#', async (encoding, encode, outcome) => {
  const table = await createTable(client(), [{ a: 1 }]);
  const before = await stateOf(client(), table.path);
  const answer = await client().post(table.path, encode(JSON.stringify([{ a: 2 }])), { 'content-encoding': encoding });
  expect(outcomeOf(answer)).toBe(outcome);
  if (outcome !== '201') expect(await stateOf(client(), table.path)).toEqual(before);
});

test('a write that exceeds the rows of a table is refused as a whole, before the plan is checked', async () => {
  const table = await createTable(client(), numbered(29_999));
  await leavingUnchanged(client(), table.path, async () => {
    expect(outcomeOf(await client().post(table.path, numbered(2)))).toBe('400 limit_exceeded');
  });
  expect(outcomeOf(await client().post(table.path, numbered(1)))).toBe('201');
  expect(outcomeOf(await client().post(table.path, numbered(1)))).toBe('400 limit_exceeded');
  await client().delete(`${table.path}/${table.rowIds[0]}`);
  expect(outcomeOf(await client().post(table.path, numbered(1)))).toBe('201');
});
