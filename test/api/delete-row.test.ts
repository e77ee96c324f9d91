/** Spec 4.5, decisions 3, 4 and 6. */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { cellsOf, createTable, leavingUnchanged, unknownRowId, unknownTableId } from '../support/tables.ts';

const { client } = useApi();

test("a deleted row is gone, and the answer has the table's version", async () => {
  const table = await createTable(client(), [{ a: 1 }, { a: 2 }, { a: 3 }]);
  const path = `${table.path}/${table.rowIds[1]}`;
  const answer = await client().delete(path);
  expect([outcomeOf(answer), answer.json]).toEqual(['200', {}]);
  expect(answer.version! > table.version).toBe(true);
  expect((await client().head(table.path)).version).toBe(answer.version);
  expect(cellsOf(await client().rows(table.id))).toEqual([{ a: 1 }, { a: 3 }]);
  expect(outcomeOf(await client().get(path))).toBe('404 row_not_found');
  expect(outcomeOf(await client().patch(path, { a: 5 }))).toBe('404 row_not_found');
});

test('deleting a missing row is no error and changes no version, whatever If-Match says', async () => {
  const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
  const { version } = await client().delete(`${table.path}/${table.rowIds[0]}`);
  for (const id of [table.rowIds[0], unknownRowId, 'x', 'x'.repeat(2_000)]) {
    for (const headers of [{}, { 'if-match': '"1"' }, { 'if-match': '"99999999999999999999"' }] as Record<
      string,
      string
    >[]) {
      const answer = await leavingUnchanged(client(), table.path, () =>
        client().delete(`${table.path}/${id}`, headers),
      );
      expect([outcomeOf(answer), answer.version]).toEqual(['200', version]);
    }
  }
});

test("If-Match is compared with the row's version", async () => {
  const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
  const path = `${table.path}/${table.rowIds[0]}`;
  const patched = await client().patch(path, { a: 5 });
  await leavingUnchanged(client(), table.path, async () => {
    const stale = await client().delete(path, { 'if-match': `"${table.version}"` });
    expect(outcomeOf(stale)).toBe('412 precondition_failed');
  });
  expect(outcomeOf(await client().delete(path, { 'if-match': `"${patched.version}"` }))).toBe('200');
});

test.each<[string, Record<string, string>, string]>([
  [`/tables/${unknownTableId}/rows/${unknownRowId}`, {}, '404 table_not_found'],
  [`/tables/x/rows/x`, {}, '404 table_not_found'],
  [`/tables/${unknownTableId}/rows/x`, { 'if-match': '"1"' }, '404 table_not_found'],
  [`/tables/${unknownTableId}/rows/x`, { 'if-match': 'x' }, '400 request_validation_error'],
  [`/tables/${unknownTableId}/rows/x?a=1`, {}, '400 request_validation_error'],
])('DELETE %s %j is %s', async (path, headers, outcome) => {
  expect(outcomeOf(await client().delete(path, headers))).toBe(outcome);
});

test('a Content-Type on a request without a body is no error', async () => {
  const table = await createTable(client(), [{ a: 1 }]);
  const answer = await client().delete(`${table.path}/${table.rowIds[0]}`, { 'content-type': 'application/json' });
  expect(outcomeOf(answer)).toBe('200');
});

test('however often its deletion is sent, a row is deleted once', async () => {
  const table = await createTable(
    client(),
    Array.from({ length: 300 }, (_, n) => ({ n })),
  );
  const path = `${table.path}/${table.rowIds[150]}`;
  const answers = await Promise.all(Array.from({ length: 10 }, () => client().delete(path)));
  expect(new Set(answers.map(outcomeOf))).toEqual(new Set(['200']));
  expect(new Set(answers.map(({ version }) => version)).size).toBe(1);
  expect(await client().rows(table.id)).toHaveLength(299);
});

test('IDs of deleted rows are not used again', async () => {
  const table = await createTable(client(), [{ a: 1 }]);
  const ids = new Set(table.rowIds);
  for (let round = 0; round < 5; round += 1) {
    for (const { $rowID } of await client().rows(table.id)) await client().delete(`${table.path}/${String($rowID)}`);
    const { json } = await client().post(table.path, [{ a: 1 }, { a: 2 }]);
    for (const id of json.data.rowIDs) ids.add(id);
  }
  expect(ids.size).toBe(11);
});
