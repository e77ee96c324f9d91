/** Spec 4.4, decisions 2, 3 and 6. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { arrayOf, cellsOf, createTable, leavingUnchanged, unknownRowId, unknownTableId } from '../support/tables.ts';

const { client } = useApi();
const malformed = '400 request_validation_error';
const types = { a: 'number', b: 'string', c: arrayOf('number'), d: 'json' };
const row = { a: 1, b: 'x', c: [1, 2], d: { k: 1.5 } };
/** The ID of 16 zero bytes, which no row ever has. */
const noRow = 'A'.repeat(22);

test.each<[string, string, unknown, string, object]>([
  ['one column', '', { a: 2 }, '200', { ...row, a: 2 }],
  ['several columns', '', { c: [3], a: 2 }, '200', { ...row, a: 2, c: [3] }],
  ['null clears', '', { a: null, b: null }, '200', { c: [1, 2], d: { k: 1.5 } }],
  ['all cleared', '', { a: null, b: null, c: null, d: null }, '200', {}],
  ['a number in a string column', '', { b: 4.5 }, '200', { ...row, b: '4.5' }],
  [
    'dropColumns drops what offends',
    '?onSchemaError=dropColumns',
    { a: 'x', b: 'y', e: 1, $stashID: 1 },
    '200',
    { ...row, b: 'y' },
  ],
  ['updateSchema adds a column', '?onSchemaError=updateSchema', { e: 1 }, '200', { ...row, e: 1 }],
  ['updateSchema widens a column', '?onSchemaError=updateSchema', { a: 'y' }, '200', { ...row, a: 'y' }],
  ['updateSchema wraps a scalar', '?onSchemaError=updateSchema', { c: 7 }, '200', { ...row, c: [7] }],
  ['updateSchema widens and wraps', '?onSchemaError=updateSchema', { c: 'y' }, '200', { ...row, c: ['y'] }],
])('a patch is applied or refused: %s', async (_, query, patch, outcome, cells) => {
  const table = await createTable(client(), [{ a: 0 }, row, { a: 9 }], types);
  const path = `${table.path}/${table.rowIds[1]}`;
  const answer = await client().patch(`${path}${query}`, patch);
  expect([outcomeOf(answer), answer.json]).toEqual([outcome, {}]);
  const after = await client().get(path);
  expect(after.json.data).toEqual({ ...cells, $rowID: table.rowIds[1] });
  expect(answer.version).toBe(after.version);
  expect(answer.version).toBe((await client().head(table.path)).version);
  expect(answer.version! > table.version).toBe(true);
  const listed = await client().rows(table.id);
  expect(listed.map(({ $rowID }) => $rowID)).toEqual(table.rowIds);
  expect(cellsOf(listed)[1]).toEqual(cells);
});

test.each<[string, unknown, string]>([
  ['', { a: 'x' }, '422 column_has_invalid_value'],
  ['', { b: 'y', a: 'x' }, '422 column_has_invalid_value'],
  ['', { c: 5 }, '422 column_has_invalid_value'],
  ['', { c: [1, null] }, '422 column_has_invalid_value'],
  ['', { e: 1 }, '422 column_id_not_found'],
  ['', { e: null }, '422 column_id_not_found'],
  ['', { e: 1, a: 'x' }, '422 column_id_not_found'],
  ['', { a: 'x', e: 1 }, '422 column_has_invalid_value'],
  ['', { $stashID: 1 }, '422 column_id_reserved'],
  ['?onSchemaError=updateSchema', { $stashID: 1 }, '422 column_id_reserved'],
  ['', '{"a":9007199254740993}', '422 column_has_invalid_value'],
  ['', { b: 'x'.repeat(257 * 1024) }, '400 limit_exceeded'],
  ['', { $rowID: unknownRowId, a: 2 }, malformed],
  ['', { $rowID: null, a: 2 }, malformed],
  ['', { $rowID: 1, a: 2 }, malformed],
  ['?onSchemaError=dropColumns', { $rowID: 'x', a: 2 }, malformed],
  ['', [], malformed],
  ['', [{ a: 2 }], malformed],
  ['', '"x"', malformed],
  ['', 'null', malformed],
  ['', '', malformed],
  ['', '{"a":2}{}', malformed],
  ['', '{"a":2', malformed],
  ['?onSchemaError=no', { a: 2 }, malformed],
  ['?name=n', { a: 2 }, malformed],
])('PATCH%s %# is %s and nothing changes', async (query, body, outcome) => {
  const table = await createTable(client(), [row], types);
  await leavingUnchanged(client(), table.path, async () => {
    expect(outcomeOf(await client().patch(`${table.path}/${table.rowIds[0]}${query}`, body))).toBe(outcome);
  });
});

test.each<[string, string, unknown]>([
  ['nothing', '', {}],
  ['the same', '', row],
  ['the same, with its ID', '', { $rowID: '', a: 1 }],
  ['the same numbers, written otherwise', '', '{"a":1.0,"c":[10e-1,2.000]}'],
  ['the same object, its number written otherwise', '', '{"d":{"k":15e-1}}'],
  ['the same text', '', { b: 'x' }],
  ['what is dropped', '?onSchemaError=dropColumns', { a: 'x', e: 5 }],
  ['no new column', '?onSchemaError=updateSchema', { a: 1 }],
])('a patch to %s moves no version', async (_, query, patch) => {
  const table = await createTable(client(), [row, {}], types);
  const id = table.rowIds[0]!;
  const body = typeof patch === 'object' && '$rowID' in patch! ? { ...patch, $rowID: id } : patch;
  await leavingUnchanged(client(), table.path, async () => {
    const answer = await client().patch(`${table.path}/${id}${query}`, body);
    expect([outcomeOf(answer), answer.json, answer.version]).toEqual(['200', {}, table.version]);
  });
});

test('clearing an empty cell changes no version', async () => {
  const table = await createTable(client(), [{}], types);
  const answer = await client().patch(`${table.path}/${table.rowIds[0]}`, { a: null, d: null });
  expect(answer.version).toBe(table.version);
});

describe('what is not there', () => {
  test.each<[string, Record<string, string>, unknown, string]>([
    ['unknown table', {}, { a: 1 }, '404 table_not_found'],
    ['unknown table', { 'if-match': '"1"' }, { a: 'x' }, '404 table_not_found'],
    ['unknown table', {}, '{', malformed],
    ['unknown table', { 'if-match': '1' }, { a: 1 }, malformed],
    ['unknown row', {}, { a: 1 }, '404 row_not_found'],
    ['unknown row', { 'if-match': '"1"' }, { a: 1 }, '404 row_not_found'],
    ['unknown row', {}, { a: 'x' }, '404 row_not_found'],
    ['unknown row', {}, '{', malformed],
    ['unknown row', {}, { a: 1, $rowID: unknownRowId }, '404 row_not_found'],
    ['unknown row', {}, { a: 1, $rowID: noRow }, malformed],
    ['no row ID', {}, { a: 1 }, '404 row_not_found'],
    ['no row ID', {}, { a: 'x' }, '404 row_not_found'],
    ['no row ID', {}, { a: 1, $rowID: 'x y' }, '404 row_not_found'],
    ['no row ID', {}, { a: 1, $rowID: noRow }, malformed],
    ['no row ID', {}, { a: 1, $rowID: 'y' }, malformed],
    ['no row ID', {}, '{', malformed],
    ['no row ID in an unknown table', {}, { a: 1, $rowID: 'x y' }, '404 table_not_found'],
    ['deleted row', { 'if-match': '"1"' }, { a: 1 }, '404 row_not_found'],
    ['row of another table', {}, { a: 1 }, '404 row_not_found'],
  ])('a patch of an %s with headers %j and body %j is answered with %s', async (what, headers, body, outcome) => {
    const table = await createTable(client(), [row, row], types);
    const other = await createTable(client(), [row], types);
    await client().delete(`${table.path}/${table.rowIds[1]}`);
    const paths: Record<string, string> = {
      'unknown table': `/tables/${unknownTableId}/rows/${table.rowIds[0]}`,
      'unknown row': `${table.path}/${unknownRowId}`,
      'no row ID': `${table.path}/x%20y`,
      'no row ID in an unknown table': `/tables/${unknownTableId}/rows/x%20y`,
      'deleted row': `${table.path}/${table.rowIds[1]}`,
      'row of another table': `${table.path}/${other.rowIds[0]}`,
    };
    expect(outcomeOf(await client().patch(paths[what]!, body, headers))).toBe(outcome);
  });
});

test('a row that would become too large is refused', async () => {
  const half = 'x'.repeat(250_000);
  const table = await createTable(client(), [{ a: half, b: half, c: 'x' }]);
  await leavingUnchanged(client(), table.path, async () => {
    const answer = await client().patch(`${table.path}/${table.rowIds[0]}`, { c: half });
    expect(outcomeOf(answer)).toBe('400 limit_exceeded');
  });
});

test('parallel patches of one row all take effect, and with If-Match only one does', async () => {
  const table = await createTable(
    client(),
    [{}],
    Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`c${n}`, 'number'])),
  );
  const path = `${table.path}/${table.rowIds[0]}`;
  await Promise.all(Array.from({ length: 30 }, (_, n) => client().patch(path, { [`c${n}`]: n })));
  const { json, version } = await client().get(path);
  expect(Object.keys(json.data)).toHaveLength(31);
  const racing = await Promise.all(
    Array.from({ length: 20 }, (_, n) => client().patch(path, { c0: 100 + n }, { 'if-match': `"${version}"` })),
  );
  expect(racing.map(outcomeOf).toSorted()).toEqual([
    '200',
    ...Array.from({ length: 19 }, () => '412 precondition_failed'),
  ]);
});

test('rows of large segments keep their place when they are patched', async () => {
  const table = await createTable(
    client(),
    Array.from({ length: 500 }, (_, n) => ({ n, t: `t${n}` })),
  );
  for (const n of [0, 250, 499]) await client().patch(`${table.path}/${table.rowIds[n]}`, { t: null, n: -n });
  const listed = await client().rows(table.id, 100);
  expect(listed.map(({ $rowID }) => $rowID)).toEqual(table.rowIds);
  expect(cellsOf([listed[0]!, listed[1]!, listed[250]!, listed[499]!])).toEqual([
    { n: 0 },
    { n: 1, t: 't1' },
    { n: -250 },
    { n: -499 },
  ]);
});
