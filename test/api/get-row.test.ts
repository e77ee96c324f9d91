/** Spec 4.3, decisions 2 and 3. */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { createTable, unknownRowId, unknownTableId } from '../support/tables.ts';

const { client } = useApi();

test.each<[string, object, object]>([
  ['scalars', { a: 1, b: 'x', c: true }, { a: 1, b: 'x', c: true }],
  ['empty columns are left out', { a: null, b: 'x' }, { b: 'x' }],
  ['no column at all', {}, {}],
  ['arrays and objects', { a: [1, 2], b: ['x'], c: { d: [null] } }, { a: [1, 2], b: ['x'], c: { d: [null] } }],
  ['empty texts are no empty columns', { a: '', b: [] }, { a: '', b: [] }],
])('a row has its cells and its ID: %s', async (_, row, cells) => {
  const table = await createTable(client(), [row]);
  const answer = await client().get(`${table.path}/${table.rowIds[0]}`);
  expect([answer.status, answer.json]).toEqual([200, { data: { ...cells, $rowID: table.rowIds[0] } }]);
  expect(answer.version).toBe(table.version);
});

test('rows of every kind of write are found, each under its own ID', async () => {
  const table = await createTable(client(), [{ n: 0 }]);
  const ids = [...table.rowIds];
  for (const count of [2, 300, 5]) {
    const rows = Array.from({ length: count }, (_, index) => ({ n: ids.length + index }));
    ids.push(...(await client().post(table.path, rows)).json.data.rowIDs);
  }
  for (const n of [0, 1, 2, 3, 100, 302, 303, 307]) {
    expect((await client().get(`${table.path}/${ids[n]}`)).json.data).toEqual({ n, $rowID: ids[n] });
  }
});

test('what is not there', async () => {
  const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
  const other = await createTable(client(), [{ a: 1 }]);
  const [id, deleted] = table.rowIds as [string, string];
  await client().delete(`${table.path}/${deleted}`);
  const cases: [string, string][] = [
    [`${table.path}/${id}`, '200'],
    [`${table.path}/${deleted}`, '404 row_not_found'],
    [`${table.path}/${other.rowIds[0]}`, '404 row_not_found'],
    [`${table.path}/${unknownRowId}`, '404 row_not_found'],
    [`${table.path}/x`, '404 row_not_found'],
    [`${table.path}/${id}=`, '404 row_not_found'],
    [`${table.path}/${id.slice(0, -1)}`, '404 row_not_found'],
    [`${table.path}/${'_'.repeat(22)}`, '404 row_not_found'],
    [`${table.path}/${encodeURIComponent('ä/\0')}`, '404 row_not_found'],
    [`${table.path}/${'x'.repeat(3_000)}`, '404 row_not_found'],
    [`/tables/${unknownTableId}/rows/${id}`, '404 table_not_found'],
    [`/tables/${table.id.toUpperCase()}x/rows/${id}`, '404 table_not_found'],
    [`/tables/x/rows/${id}`, '404 table_not_found'],
    [`/tables/${'x'.repeat(3_000)}/rows/${id}`, '404 table_not_found'],
    [`${table.path}/${id}?limit=1`, '400 request_validation_error'],
    [`/tables/${unknownTableId}/rows/${id}?limit=1`, '400 request_validation_error'],
  ];
  for (const [path, outcome] of cases) expect([path, outcomeOf(await client().get(path))]).toEqual([path, outcome]);
});

test('only one spelling of a row ID is valid', async () => {
  const table = await createTable(client(), [{ a: 1 }]);
  const id = table.rowIds[0]!;
  // 22 base64url digits carry 4 bits more than 16 bytes have.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const twin = id.slice(0, -1) + alphabet[alphabet.indexOf(id.at(-1)!) + 1];
  expect(outcomeOf(await client().get(`${table.path}/${twin}`))).toBe('404 row_not_found');
});
