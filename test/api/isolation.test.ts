/** Decisions 1 and 5: a foreign ID answers exactly as an unknown one; suspension. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import {
  createTable,
  leavingUnchanged,
  stateOf,
  unknownRowId,
  unknownTableId,
  type MadeTable,
} from '../support/tables.ts';

const { api } = useApi();

/** Every request about one table or row, for any two IDs. */
const requests: [string, (client: Client, tableId: string, rowId: string) => Promise<Answer>][] = [
  ['HEAD table', (client, table) => client.head(`/tables/${table}`)],
  ['GET table', (client, table) => client.get(`/tables/${table}`)],
  ['GET table, If-None-Match', (client, table) => client.get(`/tables/${table}`, { 'if-none-match': '*' })],
  ['PATCH table', (client, table) => client.patch(`/tables/${table}`, { name: 'x' })],
  ['PATCH table, nothing', (client, table) => client.patch(`/tables/${table}`, {})],
  [
    'PATCH table, unknown column',
    (client, table) => client.patch(`/tables/${table}`, { columns: [{ id: 'z', displayName: 'Z' }] }),
  ],
  ['PATCH table, If-Match', (client, table) => client.patch(`/tables/${table}`, { name: 'x' }, { 'if-match': '"1"' })],
  ['PUT table', (client, table) => client.put(`/tables/${table}`, [{ a: 1 }])],
  ['PUT table, none', (client, table) => client.put(`/tables/${table}`, [])],
  [
    'PUT table, schema',
    (client, table) =>
      client.put(`/tables/${table}`, { schema: { columns: [{ id: 'b', type: 'string' }] }, rows: [{ b: 'x' }] }),
  ],
  ['PUT table, misfit', (client, table) => client.put(`/tables/${table}`, [{ a: 'x' }])],
  ['PUT table, If-Match', (client, table) => client.put(`/tables/${table}`, [{ a: 1 }], { 'if-match': '"1"' })],
  ['PUT table, stash', (client, table) => client.put(`/tables/${table}`, { $stashID: 's' })],
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
  [
    'POST rows, updateSchema',
    (client, table) => client.post(`/tables/${table}/rows?onSchemaError=updateSchema`, [{ z: 1 }]),
  ],
  [
    'POST rows, many',
    (client, table) =>
      client.post(
        `/tables/${table}/rows`,
        Array.from({ length: 4_000 }, () => ({ a: 1, b: 'x'.repeat(200) })),
      ),
  ],
  ['GET row', (client, table, row) => client.get(`/tables/${table}/rows/${row}`)],
  [
    'GET row, If-None-Match',
    (client, table, row) => client.get(`/tables/${table}/rows/${row}`, { 'if-none-match': '*' }),
  ],
  ['PATCH row', (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, { a: 2 })],
  ['PATCH row, nothing', (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, {})],
  ['PATCH row, misfit', (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, { a: 'x' })],
  [
    'PATCH row, If-Match',
    (client, table, row) => client.patch(`/tables/${table}/rows/${row}`, { a: 2 }, { 'if-match': '"1"' }),
  ],
  ['DELETE row', (client, table, row) => client.delete(`/tables/${table}/rows/${row}`)],
  [
    'DELETE row, If-Match',
    (client, table, row) => client.delete(`/tables/${table}/rows/${row}`, { 'if-match': '"1"' }),
  ],
];

function seen({ status, headers, text }: Answer): unknown {
  const { 'date': _date, 'request-id': _id, ...rest } = Object.fromEntries(headers);
  return { status, headers: rest, text };
}

describe("another team's", () => {
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

  test.each(requests.filter(([name]) => / row(,|$)/.test(name)))(
    'row in a table of mine answers as an unknown one: %s',
    async (_, request) => {
      await leavingUnchanged(theirs.client, foreign.path, async () => {
        const unknown = await request(mine.client, ours.id, unknownRowId);
        // Teams may have equal row IDs; the second row of theirs has one that none of mine has.
        expect(seen(await request(mine.client, ours.id, foreign.rowIds[1]!))).toEqual(seen(unknown));
      });
    },
  );

  test.each(requests.filter(([name]) => / row(,|$)/.test(name)))('table and a row of mine: %s', async (_, request) => {
    await leavingUnchanged(mine.client, ours.path, async () => {
      const unknown = await request(mine.client, unknownTableId, ours.rowIds[0]!);
      expect(seen(await request(mine.client, foreign.id, ours.rowIds[0]!))).toEqual(seen(unknown));
    });
  });

  test('table is not deleted, and the answer is the same as for an unknown one', async () => {
    for (const headers of [{}, { 'if-match': '"1"' }] as Record<string, string>[]) {
      await leavingUnchanged(theirs.client, foreign.path, async () => {
        const unknown = await mine.client.delete(`/tables/${unknownTableId}`, headers);
        expect(outcomeOf(unknown)).toBe('200');
        expect(seen(await mine.client.delete(`/tables/${foreign.id}`, headers))).toEqual(seen(unknown));
      });
    }
  });

  test('continuation is refused', async () => {
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
  test.each(requests)('a suspended team is refused to write: %s', async (name, request) => {
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
    [
      'create table, schema',
      (client) =>
        client.post('/tables', { name: 'n', schema: { columns: [{ id: '$rowID', type: 'string' }] }, rows: [] }),
      '402 payment_required',
    ],
    [
      'create table, stash',
      (client) => client.post('/tables', { name: 'n', rows: { $stashID: 's' } }),
      '402 payment_required',
    ],
    ['an unknown table', (client) => client.get(`/tables/${unknownTableId}/rows`), '404 table_not_found'],
    ["an unknown table's row", (client) => client.get(`/tables/${unknownTableId}/rows/x`), '404 table_not_found'],
    [
      'add to an unknown table',
      (client) => client.post(`/tables/${unknownTableId}/rows`, [{ a: 1 }]),
      '404 table_not_found',
    ],
    ['delete table', (client) => client.delete(`/tables/${table.id}`), '402 payment_required'],
    ['delete an unknown table', (client) => client.delete(`/tables/${unknownTableId}`), '200'],
    ['an unknown row', (client) => client.get(`${table.path}/x`), '402 payment_required'],
    ['patch an unknown row', (client) => client.patch(`${table.path}/x`, { a: 1 }), '402 payment_required'],
    ['delete an unknown row', (client) => client.delete(`${table.path}/x`), '402 payment_required'],
    [
      'create upload',
      (client) => client.post('/apps/a/uploads', { contentType: 'image/png', fileName: 'cat.png' }),
      '402 payment_required',
    ],
    [
      'create upload, malformed',
      (client) => client.post('/apps/a/uploads', { contentType: 'image/png' }),
      '400 request_validation_error',
    ],
    [
      'complete an unknown upload',
      (client) => client.send(`/apps/a/uploads/${unknownTableId}/complete`, { method: 'POST' }),
      '404 upload_not_found',
    ],
    [
      'delete an unknown upload',
      (client) => client.delete(`/apps/a/uploads/${unknownTableId}`),
      '404 upload_not_found',
    ],
    // The interface names no 402 for these (spec 4.1, 4.6, 4.7, 4.10, 4.11).
    ['an unknown job', (client) => client.get('/jobs/x'), '404 job_not_found'],
    ['send a chunk', (client) => client.put('/stashes/s/1', [{ a: 1 }]), '200'],
    ['delete a stash', (client) => client.delete('/stashes/s'), '200'],
  ])('a suspended team may read and not write: %s', async (_, request, outcome) => {
    expect(outcomeOf(await request(team.client))).toBe(outcome);
  });

  test('finds everything unchanged when it is resumed, and other teams never notice', async () => {
    const other = await api().createTeam();
    expect(outcomeOf(await other.client.post('/tables', { name: 'n', rows: [] }))).toBe('201');
    await team.resume();
    expect(await stateOf(team.client, table.path)).toMatchObject({ version: table.version });
    expect(await team.client.rows(table.id)).toHaveLength(2);
    expect(outcomeOf(await team.client.post(table.path, [{ a: 3 }]))).toBe('201');
    await team.suspend();
  });
});
