/** Decisions 5: a plan limits the rows that all tables of a team show. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { stashOf } from '../support/stashes.ts';
import { createTable, leavingUnchanged, type MadeTable } from '../support/tables.ts';

const { api } = useApi();

const fits = '201';
const exceeds = '402 payment_required';

describe('a plan', () => {
  test('counts the rows of all tables, and refuses a write that exceeds it as a whole', async () => {
    const team = await api().createTeam();
    const { client } = team;
    await team.setPlan({ rowsMax: 5 });
    const first = await createTable(client, [{ a: 1 }, { a: 2 }]);
    const second = await createTable(client, [{ a: 1 }]);
    const add = (path: string, rows: number): Promise<string> =>
      client
        .post(
          path,
          Array.from({ length: rows }, (_, n) => ({ a: n })),
        )
        .then(outcomeOf);
    await leavingUnchanged(client, first.path, async () => {
      expect(await add(first.path, 3)).toBe('402 payment_required');
      expect(await add(first.path, 200)).toBe('402 payment_required');
      expect(outcomeOf(await client.post('/tables', { name: 'n', rows: [{}, {}, {}] }))).toBe('402 payment_required');
    });
    expect(await add(first.path, 2)).toBe('201');
    expect(await add(second.path, 1)).toBe('402 payment_required');
    expect(await add(second.path, 0)).toBe('201');
    expect(outcomeOf(await client.patch(`${first.path}/${first.rowIds[0]}`, { a: 9 }))).toBe('200');
    expect(outcomeOf(await client.get(first.path))).toBe('200');
    expect(outcomeOf(await client.post('/tables', { name: 'n', rows: [] }))).toBe('201');
    await client.delete(`${first.path}/${first.rowIds[0]}`);
    await client.delete(`${first.path}/${first.rowIds[0]}`);
    expect(await add(second.path, 2)).toBe('402 payment_required');
    expect(await add(second.path, 1)).toBe('201');
    await team.setPlan({ rowsMax: 1 });
    expect(await add(second.path, 1)).toBe('402 payment_required');
    expect(await add(second.path, 0)).toBe('201');
    await team.setPlan({ rowsMax: null });
    expect(await add(second.path, 100)).toBe('201');
  });

  test('is checked last', async () => {
    const team = await api().createTeam();
    const { client } = team;
    const table = await createTable(client, [{ a: 1 }], { a: 'number' });
    await team.setPlan({ rowsMax: 0 });
    expect(outcomeOf(await client.post(table.path, [{ a: 'x' }]))).toBe('422 column_has_invalid_value');
    expect(outcomeOf(await client.post(table.path, [{ a: 1 }], { 'if-match': '"1"' }))).toBe('412 precondition_failed');
    expect(outcomeOf(await client.post(table.path, [{ a: 1 }]))).toBe('402 payment_required');
  });
});

describe('of writers in parallel', () => {
  const rowsOf = (count: number): object[] => Array.from({ length: count }, (_, a) => ({ a }));

  test('exactly as many succeed as there is room for', async () => {
    const team = await api().createTeam();
    await team.setPlan({ rowsMax: 10 });
    const table = await createTable(team.client, [], { a: 'number' });
    const answers = await Promise.all(Array.from({ length: 40 }, () => team.client.post(table.path, rowsOf(1))));
    expect(answers.map(outcomeOf).toSorted()).toEqual([...Array(10).fill(fits), ...Array(30).fill(exceeds)]);
    expect(await team.client.rows(table.id)).toHaveLength(10);
  });

  test('each one that would exceed the plan is refused as a whole', async () => {
    const team = await api().createTeam();
    await team.setPlan({ rowsMax: 11 });
    const table = await createTable(team.client, [], { a: 'number' });
    const answers = await Promise.all(Array.from({ length: 12 }, () => team.client.post(table.path, rowsOf(2))));
    expect(answers.map(outcomeOf).toSorted()).toEqual([...Array(5).fill(fits), ...Array(7).fill(exceeds)]);
    expect(await team.client.rows(table.id)).toHaveLength(10);
  });

  test('each refused write would have exceeded the plan, in whatever form its rows came, and to whichever table', async () => {
    const team = await api().createTeam();
    const { client } = team;
    const rowsMax = 700;
    await team.setPlan({ rowsMax });
    const tables = await Promise.all([1, 2].map(() => createTable(client, [], { a: 'number' })));
    const stashId = await stashOf(client, { 1: rowsOf(70) });
    const [one, other] = tables as [MadeTable, MadeTable];
    const ways: readonly (readonly [rows: number, write: () => Promise<Answer>])[] = [
      [1, () => client.post(one.path, rowsOf(1))],
      [3, () => client.post(other.path, rowsOf(3))],
      [150, () => client.post(one.path, rowsOf(150))],
      [70, () => client.post(other.path, { $stashID: stashId })],
      [20, () => client.post('/tables', { name: 'n', rows: rowsOf(20) })],
    ];
    const writers = Array.from({ length: 40 }, (_, at) => ways[at % ways.length]!);
    const outcomes = await Promise.all(
      writers.map(async ([rows, write]) => ({ rows, outcome: outcomeOf(await write()) })),
    );
    const used = outcomes.reduce((sum, { rows, outcome }) => (outcome === fits ? sum + rows : sum), 0);
    expect(used).toBeLessThanOrEqual(rowsMax);
    const refused = outcomes.filter(({ outcome }) => outcome !== fits);
    expect(refused.length).toBeGreaterThan(0);
    for (const { rows, outcome } of refused) {
      expect(outcome).toBe(exceeds);
      expect(used + rows).toBeGreaterThan(rowsMax);
    }
    expect(await countRows(client)).toBe(used);
  });

  test('a row that several requests delete makes room for one row', async () => {
    const team = await api().createTeam();
    const table = await createTable(team.client, rowsOf(3));
    await team.setPlan({ rowsMax: 3 });
    const row = `${table.path}/${table.rowIds[1]}`;
    expect((await Promise.all(Array.from({ length: 8 }, () => team.client.delete(row)))).map(outcomeOf)).toEqual(
      Array(8).fill('200'),
    );
    const answers = await Promise.all(Array.from({ length: 8 }, () => team.client.post(table.path, rowsOf(1))));
    expect(answers.map(outcomeOf).toSorted()).toEqual([fits, ...Array(7).fill(exceeds)]);
  });
});

/** The rows of all tables of a team. */
async function countRows(client: Client): Promise<number> {
  const { json } = await client.get('/tables');
  const counts = await Promise.all(
    (json.data as { id: string }[]).map(async ({ id }) => (await client.rows(id)).length),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
