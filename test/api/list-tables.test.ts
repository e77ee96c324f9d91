/** Spec 4.1, decisions 3. */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { createTable } from '../support/tables.ts';

const { api, client } = useApi();

test('a team without tables has an empty list', async () => {
  const { client: alone } = await api().createTeam();
  expect((await alone.get('/tables')).text).toBe('{"data":[]}');
});

test('tables are listed in the order of their creation, whatever their names and later changes', async () => {
  const { client: alone } = await api().createTeam();
  const names = ['b', 'a', 'b', 'ä 😀 "quoted"', 'a'];
  const made: { id: string; name: string }[] = [];
  for (const name of names) {
    const { json } = await alone.post('/tables', { name, rows: [{ a: 1 }] });
    made.push({ id: json.data.tableID, name });
  }
  await alone.post(`/tables/${made[1]!.id}/rows`, [{ a: 2 }]);
  expect((await alone.get('/tables')).json.data).toEqual(made);
});

test('if tables are created in parallel, all are listed, in the order of their versions', async () => {
  const { client: alone } = await api().createTeam();
  const made = await Promise.all(Array.from({ length: 30 }, () => createTable(alone, [])));
  const ids = made.toSorted((a, b) => Number(a.version - b.version)).map(({ id }) => id);
  const listed = (await alone.get('/tables')).json.data;
  expect(listed.map(({ id }: { id: string }) => id)).toEqual(ids);
});

test('each team sees only its own tables', async () => {
  const teams = [await api().createTeam(), await api().createTeam()];
  for (const [index, team] of teams.entries()) await team.client.post('/tables', { name: `of ${index}`, rows: [] });
  for (const [index, team] of teams.entries()) {
    expect((await team.client.get('/tables')).json.data.map(({ name }: { name: string }) => name)).toEqual([
      `of ${index}`,
    ]);
  }
});

test.each(['name=x', 'a'])('?%s is refused', async (query) => {
  expect(outcomeOf(await client().get(`/tables?${query}`))).toBe('400 request_validation_error');
});

test('a table is listed once it is created, and never if its creation was refused', async () => {
  const { client: alone } = await api().createTeam();
  const columns = [{ id: 'a', type: 'number' }];
  expect(outcomeOf(await alone.post('/tables', { name: 'no', schema: { columns }, rows: [{ a: 'x' }] }))).toMatch(
    /^422 /,
  );
  const { json } = await alone.post('/tables', { name: 'yes', schema: { columns }, rows: [{ a: 1 }] });
  expect((await alone.get('/tables')).json.data).toEqual([{ id: json.data.tableID, name: 'yes' }]);
});
