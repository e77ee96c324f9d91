/** Decisions 1 and 5: a foreign ID answers exactly as an unknown one; suspension and plans. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { createTable, leavingUnchanged, stateOf, unknownRowId, unknownTableId, type MadeTable } from '../support/tables.ts';

const { api } = useApi();

/** Every request about one table or row, for any two IDs. */
const requests: [string, (client: Client, tableId: string, rowId: string) => Promise<Answer>][] = [
  ['HEAD table', (client, table) => client.head(`/tables/${table}`)],
  ['GET table', (client, table) => client.get(`/tables/${table}`)],
  ['GET table, If-None-Match', (client, table) => client.get(`/tables/${table}`, { 'if-none-match': '*' })],
  ['PATCH table', (client, table) => client.patch(`/tables/${table}`, { name: 'x' })],
  ['PATCH table, nothing', (client, table) => client.patch(`/tables/${table}`, {})],
  ['PATCH table, unknown column', (client, table) => client.patch(`/tables/${table}`, { columns: [{ id: 'z', displayName: 'Z' }] })],
  ['PATCH table, If-Match', (client, table) => client.patch(`/tables/${table}`, { name: 'x' }, { 'if-match': '"1"' })],
  ['HEAD rows', (client, table) => client.head(`/tables/${table}/rows`)],
  ['HEAD rows, If-None-Match', (client, table) => client.head(`/tables/${table}/rows`, { 'if-none-match': '*' })],
  ['GET rows', (client, table) => client.get(`/tables/${table}/rows`)],
  ['GET rows, limit', (client, table) => client.get(`/tables/${table}/rows?limit=1`)],
  ['GET rows, bad limit', (client, table) => client.get(`/tables/${table}/rows?limit=0`)],
  ['POST rows', (client, table) => client.post(`/tables/${table}/rows`, [{ a: 1 }])],
  ['POST rows, none', (client, table) => client.post(`/tables/${table}/rows`, [])],
  ['POST rows, misfit', (client, table) => client.post(`/tables/${table}/rows`, [{ a: 'x' }])],
  ['POST rows, If-Match', (client, table) => client.post(`/tables/${table}/rows`, [{ a: 1 }], { 'if-match': '"1"' })],
  ['POST rows, stash', (client, table) => client.post(`/tables/${table}/rows`, { $stashID: 's' })],
  ['POST rows, updateSchema', (client, table) => client.post(`/tables/${table}/rows?onSchemaError=updateSchema`, [{ z: 1 }])],
  ['POST rows, many', (client, table) =>
    client.post(`/tables/${table}/rows`, Array.from({ length: 4_000 }, () => ({ a: 1, b: 'x'.repeat(200) })))],
  ['GET row', (client, table, row) => client.get(`/tables/${table}/rows/${row}`)],
  ['GET row, If-None-Match', (client, table, row) => client.get(`/tables/${table}/rows/${row}`, { 'if-none-match': '*' })],
  ['PATCH row', (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, { a: 2 })],
  ['PATCH row, nothing', (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, {})],
  ['PATCH row, misfit', (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, { a: 'x' })],
  ['PATCH row, If-Match', (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, { a: 2 }, { 'if-match': '"1"' })],
  ['DELETE row', (client, table, row) => client.delete(`/tables/${table}/rows/${row}`)],
  ['DELETE row, If-Match', (client, table, row) => client.delete(`/tables/${table}/rows/${row}`, { 'if-match': '"1"' })],
];

function seen({ status, headers, text }: Answer): unknown {
  const { date: _date, 'request-id': _id, ...rest } = Object.fromEntries(headers);
  return { status, headers: rest, text };
}

describe('another team\'s', () => {
  let mine: Team;
  let theirs: Team;
  let ours: MadeTable;
  let foreign: MadeTable;
  beforeAll(async () => {
    mine = await api().createTeam();
    theirs = await api().createTeam();
    ours = await createTable(mine.client, [{ a: 1 }]);
    foreign = await createTable(theirs.client, [{ a: 1 }, { a: 2 }]);
  });

  test.each(requests)('table answers as an unknown one: %s', async (_, request) => {
    await leavingUnchanged(theirs.client, foreign.path, async () => {
      const unknown = await request(mine.client, unknownTableId, unknownRowId);
      expect(unknown.status).toBeGreaterThanOrEqual(400);
      expect(seen(await request(mine.client, foreign.id, foreign.rowIds[0]!))).toEqual(seen(unknown));
    });
  });

  test.each(requests.filter(([name]) => / row(,|$)/.test(name)))('row in a table of mine answers as an unknown one: %s', async (_, request) => {
    await leavingUnchanged(theirs.client, foreign.path, async () => {
      const unknown = await request(mine.client, ours.id, unknownRowId);
      // Teams may have equal row IDs; the second row of theirs has one that none of mine has.
      expect(seen(await request(mine.client, ours.id, foreign.rowIds[1]!))).toEqual(seen(unknown));
    });
  });

  test.each(requests.filter(([name]) => / row(,|$)/.test(name)))('table and a row of mine: %s', async (_, request) => {
    await leavingUnchanged(mine.client, ours.path, async () => {
      const unknown = await request(mine.client, unknownTableId, ours.rowIds[0]!);
      expect(seen(await request(mine.client, foreign.id, ours.rowIds[0]!))).toEqual(seen(unknown));
    });
  });

  test('table is not deleted, and the answer is that to an unknown one', async () => {
    for (const headers of [{}, { 'if-match': '"1"' }] as Record<string, string>[]) {
      await leavingUnchanged(theirs.client, foreign.path, async () => {
        const unknown = await mine.client.delete(`/tables/${unknownTableId}`, headers);
        expect(outcomeOf(unknown)).toBe('200');
        expect(seen(await mine.client.delete(`/tables/${foreign.id}`, headers))).toEqual(seen(unknown));
      });
    }
  });

  test('continuation says nothing', async () => {
    const { continuation } = (await theirs.client.get(`${foreign.path}?limit=1`)).json;
    const [known, unknown] = await Promise.all([
      mine.client.get(`${foreign.path}?continuation=${continuation}`),
      mine.client.get(`/tables/${unknownTableId}/rows?continuation=x`),
    ]);
    // A continuation is malformed for another table, whoever's that is; it must not tell that this one exists.
    expect([outcomeOf(known), outcomeOf(unknown)]).toEqual(['404 table_not_found', '400 request_validation_error']);
  });
});

describe('a suspended team', () => {
  let team: Team;
  let table: MadeTable;
  beforeAll(async () => {
    team = await api().createTeam();
    table = await createTable(team.client, [{ a: 1 }, { a: 2 }]);
    await team.suspend();
  });

  const free = new Set(['HEAD rows', 'HEAD rows, If-None-Match']);
  test.each(requests)('%s', async (name, request) => {
    const answer = await request(team.client, table.id, table.rowIds[0]!);
    if (name === 'GET rows, bad limit') expect(outcomeOf(answer)).toBe('400 request_validation_error');
    else if (free.has(name)) expect(answer.status).toBeLessThan(400);
    else if (name === 'HEAD table') expect(answer.status).toBe(402);
    else expect(outcomeOf(answer)).toBe('402 payment_required');
  });

  test.each<[string, (client: Client) => Promise<Answer>, string]>([
    ['list tables', (client) => client.get('/tables'), '200'],
    ['create table', (client) => client.post('/tables', { name: 'n', rows: [] }), '402 payment_required'],
    ['create table, malformed', (client) => client.post('/tables', { rows: [] }), '400 request_validation_error'],
    ['create table, schema', (client) =>
      client.post('/tables', { name: 'n', schema: { columns: [{ id: '$rowID', type: 'string' }] }, rows: [] }), '402 payment_required'],
    ['create table, stash', (client) => client.post('/tables', { name: 'n', rows: { $stashID: 's' } }), '402 payment_required'],
    ['an unknown table', (client) => client.get(`/tables/${unknownTableId}/rows`), '404 table_not_found'],
    ['an unknown table\'s row', (client) => client.get(`/tables/${unknownTableId}/rows/x`), '404 table_not_found'],
    ['add to an unknown table', (client) => client.post(`/tables/${unknownTableId}/rows`, [{ a: 1 }]), '404 table_not_found'],
    ['delete table', (client) => client.delete(`/tables/${table.id}`), '402 payment_required'],
    ['delete an unknown table', (client) => client.delete(`/tables/${unknownTableId}`), '200'],
    ['an unknown row', (client) => client.get(`${table.path}/x`), '402 payment_required'],
    ['patch an unknown row', (client) => client.patch(`${table.path}/x`, { a: 1 }), '402 payment_required'],
    ['delete an unknown row', (client) => client.delete(`${table.path}/x`), '402 payment_required'],
  ])('%s', async (_, request, outcome) => {
    expect(outcomeOf(await request(team.client))).toBe(outcome);
  });

  test('finds all as it was when it is resumed, and others never notice', async () => {
    const other = await api().createTeam();
    expect(outcomeOf(await other.client.post('/tables', { name: 'n', rows: [] }))).toBe('201');
    await team.resume();
    expect(await stateOf(team.client, table.path)).toMatchObject({ version: table.version });
    expect(await team.client.rows(table.id)).toHaveLength(2);
    expect(outcomeOf(await team.client.post(table.path, [{ a: 3 }]))).toBe('201');
    await team.suspend();
  });
});

describe('a plan', () => {
  test('counts the rows of all tables, and refuses whole what would exceed it', async () => {
    const team = await api().createTeam();
    const { client } = team;
    await team.setPlan(5);
    const first = await createTable(client, [{ a: 1 }, { a: 2 }]);
    const second = await createTable(client, [{ a: 1 }]);
    const add = (path: string, rows: number): Promise<string> =>
      client.post(path, Array.from({ length: rows }, (_, n) => ({ a: n }))).then(outcomeOf);
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
    await team.setPlan(1);
    expect(await add(second.path, 1)).toBe('402 payment_required');
    expect(await add(second.path, 0)).toBe('201');
    await team.setPlan(null);
    expect(await add(second.path, 100)).toBe('201');
  });

  test('is asked last', async () => {
    const team = await api().createTeam();
    const { client } = team;
    const table = await createTable(client, [{ a: 1 }], { a: 'number' });
    await team.setPlan(0);
    expect(outcomeOf(await client.post(table.path, [{ a: 'x' }]))).toBe('422 column_has_invalid_value');
    expect(outcomeOf(await client.post(table.path, [{ a: 1 }], { 'if-match': '"1"' }))).toBe('412 precondition_failed');
    expect(outcomeOf(await client.post(table.path, [{ a: 1 }]))).toBe('402 payment_required');
  });

  test('holds for writes in parallel', async () => {
    const team = await api().createTeam();
    await team.setPlan(10);
    const table = await createTable(team.client, [], { a: 'number' });
    const answers = await Promise.all(Array.from({ length: 12 }, () => team.client.post(table.path, [{ a: 1 }, { a: 2 }])));
    const outcomes = answers.map(outcomeOf);
    expect(outcomes.filter((outcome) => outcome === '201')).toHaveLength(5);
    expect(outcomes.filter((outcome) => outcome === '402 payment_required')).toHaveLength(7);
    expect(await team.client.rows(table.id)).toHaveLength(10);
  });
});
