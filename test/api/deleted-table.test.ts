/** The end of a table (docs/decisions/0009). */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { createTable, leavingUnchanged, stateOf, unknownTableId } from '../support/tables.ts';

const { api, client } = useApi();
const malformed = '400 request_validation_error';
const noTable = '404 table_not_found';

describe('a deleted table', () => {
  test('is gone, with everything in it', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }, { a: 3 }]);
    await client().post(
      table.path,
      Array.from({ length: 300 }, (_, a) => ({ a })),
    );
    const { continuation } = (await client().get(`${table.path}?limit=1`)).json;
    const row = `${table.path}/${table.rowIds[1]}`;
    const answer = await client().delete(`/tables/${table.id}`);
    expect([outcomeOf(answer), answer.json, answer.version]).toEqual(['200', {}, null]);
    const requests: [string, Promise<Answer>][] = [
      ['GET table', client().get(`/tables/${table.id}`)],
      ['PATCH table', client().patch(`/tables/${table.id}`, { name: 'n' })],
      ['PATCH table, nothing', client().patch(`/tables/${table.id}`, {})],
      ['GET rows', client().get(table.path)],
      ['GET rows, next page', client().get(`${table.path}?continuation=${continuation}`)],
      ['POST rows', client().post(table.path, [{ a: 1 }])],
      ['POST rows, none', client().post(table.path, [])],
      [
        'POST rows, many',
        client().post(
          table.path,
          Array.from({ length: 25_000 }, (_, a) => ({ a })),
        ),
      ],
      ['POST rows, updateSchema', client().post(`${table.path}?onSchemaError=updateSchema`, [{ z: 1 }])],
      ['PUT table', client().send(`/tables/${table.id}`, { method: 'PUT', body: [{ a: 1 }] })],
      ['PUT table, nothing', client().send(`/tables/${table.id}`, { method: 'PUT', body: [] })],
      ['GET row', client().get(row)],
      ['PATCH row', client().patch(row, { a: 1 })],
      ['DELETE row', client().delete(row)],
    ];
    for (const [name, request] of requests) expect([name, outcomeOf(await request)]).toEqual([name, noTable]);
    for (const path of [table.path, `/tables/${table.id}`]) expect((await client().head(path)).status).toBe(404);
    expect((await client().get('/tables')).text).not.toContain(table.id);
  });

  test('may be deleted again, whatever If-Match says', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await client().delete(`/tables/${table.id}`);
    for (const path of [
      `/tables/${table.id}`,
      `/tables/${unknownTableId}`,
      '/tables/x',
      `/tables/${'x'.repeat(2_000)}`,
    ]) {
      for (const headers of [{}, { 'if-match': '"1"' }] as Record<string, string>[]) {
        expect(outcomeOf(await client().delete(path, headers))).toBe('200');
      }
      expect(outcomeOf(await client().delete(path, { 'if-match': 'x' }))).toBe(malformed);
    }
  });

  test('does not affect other tables', async () => {
    const [first, second] = [await createTable(client(), [{ a: 1 }]), await createTable(client(), [{ a: 1 }])];
    const state = await stateOf(client(), second.path);
    await client().delete(`/tables/${first.id}`);
    expect(await stateOf(client(), second.path)).toEqual(state);
    expect(outcomeOf(await client().post(second.path, [{ a: 2 }]))).toBe('201');
  });

  test('was deleted by a client that had seen its latest version', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const patched = await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 2 });
    await leavingUnchanged(client(), table.path, async () => {
      const stale = await client().delete(`/tables/${table.id}`, { 'if-match': `"${table.version}"` });
      expect(outcomeOf(stale)).toBe('412 precondition_failed');
    });
    expect(outcomeOf(await client().delete(`/tables/${table.id}`, { 'if-match': `"${patched.version}"` }))).toBe('200');
  });

  test('no longer counts to the plan of its team', async () => {
    const team = await api().createTeam();
    await team.setPlan({ rowsMax: 3 });
    const table = await createTable(team.client, [{ a: 1 }, { a: 2 }, { a: 3 }]);
    await team.client.delete(`${table.path}/${table.rowIds[0]}`);
    const other = await createTable(team.client, [{ a: 1 }]);
    expect(outcomeOf(await team.client.post(other.path, [{ a: 2 }]))).toBe('402 payment_required');
    await team.client.delete(`/tables/${table.id}`);
    expect(outcomeOf(await team.client.post(other.path, [{ a: 2 }, { a: 3 }, { a: 4 }]))).toBe('402 payment_required');
    expect(outcomeOf(await team.client.post(other.path, [{ a: 2 }, { a: 3 }]))).toBe('201');
  });

  test('is deleted once under a key, and a repetition gets the first answer', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const headers = { 'idempotency-key': 'k-delete', 'if-match': `"${table.version}"` };
    const answers = await Promise.all(Array.from({ length: 4 }, () => client().delete(`/tables/${table.id}`, headers)));
    answers.push(await client().delete(`/tables/${table.id}`, headers));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 {}']));
    expect(outcomeOf(await client().delete(`/tables/${table.id}`, { ...headers, 'if-match': '"1"' }))).toBe(
      '400 idempotency_key_reused',
    );
  });

  test('accepts no write after its deletion, however soon it comes', async () => {
    const { client: alone } = await api().createTeam();
    for (let round = 0; round < 5; round += 1) {
      const table = await createTable(alone, [{ a: 1 }, { a: 2 }]);
      const row = `${table.path}/${table.rowIds[0]}`;
      const answers = await Promise.all([
        alone.post(table.path, [{ a: 3 }]),
        alone.patch(row, { a: 4 }),
        alone.delete(`/tables/${table.id}`),
        alone.post(table.path, [{ a: 5 }]),
        alone.put(`/tables/${table.id}`, [{ a: 7 }]),
        alone.patch(row, { a: 6 }),
        alone.patch(`/tables/${table.id}`, { name: 'n' }),
        alone.delete(row),
      ]);
      expect(outcomeOf(answers[2]!)).toBe('200');
      // After the overwrite there is no such row.
      for (const answer of answers) expect(['200', '201', '404 row_not_found', noTable]).toContain(outcomeOf(answer));
      expect(outcomeOf(await alone.get(table.path))).toBe(noTable);
      expect((await alone.get('/tables')).text).toBe('{"data":[]}');
    }
  });
});
