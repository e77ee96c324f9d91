/** Decisions 1: read-only tokens, and tokens of an app. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { promptly, useApi, type Team, type Token } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { newStashId, putChunks } from '../support/stashes.ts';
import { createTable, leavingUnchanged, unknownTableId, type MadeTable } from '../support/tables.ts';

const { api } = useApi(promptly);

let team: Team;
beforeAll(async () => {
  team = await api().createTeam();
});

function shown({ status, text }: Answer): string {
  return `${status} ${text}`;
}

/** Every request that changes something. */
const writes: [string, (client: Client, table: MadeTable) => Promise<Answer>][] = [
  ['create a table', (client) => client.post('/tables', { name: 'n', rows: [] })],
  ['create a table, malformed', (client) => client.post('/tables', 'x')],
  ['overwrite', (client, { id }) => client.put(`/tables/${id}`, [{ a: 3 }])],
  ['rename', (client, { id }) => client.patch(`/tables/${id}`, { name: 'x' })],
  ['delete a table', (client, { id }) => client.delete(`/tables/${id}`)],
  ['add rows', (client, { path }) => client.post(path, [{ a: 3 }])],
  [
    'add very many rows',
    (client, { path }) =>
      client.post(
        path,
        Array.from({ length: 20_000 }, () => ({ a: 1, b: 'x'.repeat(200) })),
      ),
  ],
  ['patch a row', (client, { path, rowIds }) => client.patch(`${path}/${rowIds[0]}`, { a: 3 })],
  ['delete a row', (client, { path, rowIds }) => client.delete(`${path}/${rowIds[0]}`)],
  ['send a chunk', (client) => client.put('/stashes/s/1', [{ a: 1 }])],
  ['delete a stash', (client) => client.delete('/stashes/s')],
  ['withdraw a file', (client) => client.delete(`/apps/a/uploads/${unknownTableId}`)],
];

describe('a token for reading only', () => {
  let table: MadeTable;
  let reading: Token;
  beforeAll(async () => {
    table = await createTable(team.client, [{ a: 1 }]);
    reading = await team.createToken({ readOnly: true });
  });

  test.each(writes)('may not %s', async (_, write) => {
    await leavingUnchanged(team.client, table.path, async () => {
      expect(outcomeOf(await write(reading.client, table))).toBe('403 forbidden');
      expect(
        outcomeOf(
          await write(reading.client, { ...table, id: unknownTableId, path: `/tables/${unknownTableId}/rows` }),
        ),
      ).toBe('403 forbidden');
    });
  });

  test('may read everything of its team', async () => {
    const { client } = reading;
    for (const path of ['/tables', `/tables/${table.id}`, table.path, `${table.path}/${table.rowIds[0]}`]) {
      expect(shown(await client.get(path))).toBe(shown(await team.client.get(path)));
    }
    for (const path of [`/tables/${table.id}`, table.path]) expect((await client.head(path)).status).toBe(200);
    const later = await team.client.post(table.path, [{ a: 2 }], { 'x-service-asynchronous': 'true' });
    expect(outcomeOf(later)).toBe('202');
    expect((await client.get(`/jobs/${later.json.data.jobID}`)).status).toBe(200);
    expect(outcomeOf(await client.get('/jobs/x'))).toBe('404 job_not_found');
  });
});

/** Every request about a table. */
const requests: [string, (client: Client, tableId: string) => Promise<Answer>][] = [
  ['HEAD table', (client, id) => client.head(`/tables/${id}`)],
  ['GET table', (client, id) => client.get(`/tables/${id}`)],
  ['PATCH table', (client, id) => client.patch(`/tables/${id}`, { name: 'x' })],
  ['PUT table', (client, id) => client.put(`/tables/${id}`, [{ a: 3 }])],
  ['DELETE table', (client, id) => client.delete(`/tables/${id}`)],
  ['DELETE table, with a key', (client, id) => client.delete(`/tables/${id}`, { 'idempotency-key': 'k' })],
  ['HEAD rows', (client, id) => client.head(`/tables/${id}/rows`)],
  ['GET rows', (client, id) => client.get(`/tables/${id}/rows`)],
  ['POST rows', (client, id) => client.post(`/tables/${id}/rows`, [{ a: 3 }])],
  ['POST rows, malformed', (client, id) => client.post(`/tables/${id}/rows`, 'x')],
  ['GET row', (client, id) => client.get(`/tables/${id}/rows/AAAAAAAAAAEAAAAAAAAAAA`)],
  ['PATCH row', (client, id) => client.patch(`/tables/${id}/rows/AAAAAAAAAAEAAAAAAAAAAA`, { a: 3 })],
  ['DELETE row', (client, id) => client.delete(`/tables/${id}/rows/AAAAAAAAAAEAAAAAAAAAAA`)],
];

describe('a token of an app', () => {
  let mine: Team;
  let ofA: Client;
  let ofB: Client;
  let tables: Readonly<Record<'a' | 'b' | 'both' | 'none', string>>;

  async function create(client: Client, body: object, headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const answer = await client.post('/tables', { name: 'test', rows: [{ a: 1 }], ...body }, headers);
    expect(outcomeOf(answer)).toBe('201');
    return answer.json.data.tableID;
  }

  beforeAll(async () => {
    mine = await api().createTeam();
    ofA = (await mine.createToken({ appId: 'a' })).client;
    ofB = (await mine.createToken({ appId: 'b' })).client;
    tables = {
      a: await create(ofA, {}),
      b: await create(ofB, { appsToLink: ['b'] }),
      both: await create(mine.client, { appsToLink: ['a', 'b'] }),
      none: await create(mine.client, {}),
    };
  });

  const idsOf = async (client: Client): Promise<string[]> =>
    (await client.get('/tables')).json.data.map(({ id }: { id: string }) => id);

  test('links the tables that it creates to its app, and sees only those', async () => {
    expect(await idsOf(ofA)).toEqual([tables.a, tables.both]);
    expect(await idsOf(ofB)).toEqual([tables.b, tables.both]);
    expect(await idsOf(mine.client)).toEqual([tables.a, tables.b, tables.both, tables.none]);
    expect((await ofA.get(`/tables/${tables.a}`)).json.data.appIDs).toEqual(['a']);
    expect((await ofB.get(`/tables/${tables.both}`)).json.data.appIDs).toEqual(['a', 'b']);
    const created = await ofA.post('/tables?name=n&appsToLink=a', []);
    expect(created.json.data.linkedAppIDs).toEqual(['a']);
    await ofA.delete(`/tables/${created.json.data.tableID}`);
  });

  test('links no table to other apps', async () => {
    for (const send of [
      () => ofA.post('/tables?name=n&appsToLink=b', []),
      () => ofA.post('/tables', { name: 'n', rows: [], appsToLink: ['a', 'b'] }),
      () => ofA.post('/tables?appsToLink=a', { name: 'n', rows: [], appsToLink: ['c'] }),
    ])
      expect(outcomeOf(await send())).toBe('403 forbidden');
    expect(outcomeOf(await ofA.post('/tables?appsToLink=b', []))).toBe('400 request_validation_error');
    expect(await idsOf(mine.client)).toHaveLength(4);
  });

  test.each(requests)('finds no table of other apps: %s', async (_, request) => {
    for (const id of [tables.b, tables.none]) {
      await leavingUnchanged(mine.client, `/tables/${id}/rows`, async () => {
        const answer = await request(ofA, id);
        expect(answer.status).toBe(404);
        expect(shown(answer)).toBe(shown(await request(ofA, unknownTableId)));
        expect(shown(answer)).toBe(shown(await request(ofA, 'x')));
      });
    }
  });

  test('reaches no stash of other apps or of the team under the same name, and the team reaches none of an app', async () => {
    const clients = [ofA, ofB, mine.client];
    const stashId = newStashId();
    const readers = [ofB, mine.client];
    await putChunks(ofA, stashId, [['1', [{ n: 'of a' }]]]);
    const schema = { columns: [{ id: 'n', type: 'string' }] };
    for (const reader of readers) {
      const missing = await reader.post('/tables', { name: 'n', rows: { $stashID: stashId } });
      expect([outcomeOf(missing), missing.json.error.message]).toEqual([
        '400 stash_not_found',
        `there is no stash ${stashId}`,
      ]);
      // With a schema, a stash that never existed counts as no rows.
      const id = await create(reader, { rows: { $stashID: stashId }, schema });
      expect((await reader.get(`/tables/${id}/rows`)).json.data).toEqual([]);
      for (const answer of [
        await reader.post(`/tables/${id}/rows`, { $stashID: stashId }),
        await reader.put(`/tables/${id}`, { $stashID: stashId }),
      ]) {
        expect(outcomeOf(answer)).toBe('400 stash_not_found');
      }
      expect(outcomeOf(await reader.delete(`/stashes/${stashId}`))).toBe('200');
      await reader.delete(`/tables/${id}`);
    }
    // Each has a stash of this name now.
    await putChunks(ofB, stashId, [['1', [{ n: 'of b' }]]]);
    await putChunks(mine.client, stashId, [
      ['1', [{ n: 'of the team' }]],
      ['2', [{ n: 'too' }]],
    ]);
    const found = [['of a'], ['of b'], ['of the team', 'too']];
    for (const [at, client] of clients.entries()) {
      const id = await create(client, { rows: { $stashID: stashId } });
      await client.post(`/tables/${id}/rows`, { $stashID: stashId });
      expect((await client.get(`/tables/${id}/rows`)).json.data.map(({ n }: { n: string }) => n)).toEqual([
        ...found[at]!,
        ...found[at]!,
      ]);
      await client.put(`/tables/${id}`, { $stashID: stashId });
      expect((await client.get(`/tables/${id}/rows`)).json.data.map(({ n }: { n: string }) => n)).toEqual(found[at]);
      await client.delete(`/tables/${id}`);
      await client.delete(`/stashes/${stashId}`);
      const gone = await client.post('/tables', { name: 'n', rows: { $stashID: stashId } });
      expect([outcomeOf(gone), gone.json.error.message]).toEqual([
        '400 stash_not_found',
        `stash ${stashId} was deleted`,
      ]);
    }
  });

  test('has stashes of its own, whatever characters the name of the app has', async () => {
    const stashId = newStashId();
    const apps = ['a b', 'a/b', 'a', '\u{1F600}"\n\\'];
    for (const [at, appId] of apps.entries())
      await putChunks((await mine.createToken({ appId })).client, stashId, [['1', [{ at }]]]);
    for (const [at, appId] of apps.entries()) {
      const { client } = await mine.createToken({ appId });
      const id = await create(client, { rows: { $stashID: stashId } });
      expect((await client.get(`/tables/${id}/rows`)).json.data).toMatchObject([{ at }]);
      await client.delete(`/tables/${id}`);
    }
  });

  test('may do everything in its own tables that the team may do', async () => {
    const id = await create(ofA, {});
    const path = `/tables/${id}/rows`;
    const [row] = (await ofA.get(path)).json.data;
    const stashId = newStashId();
    await putChunks(ofA, stashId, [['1', [{ a: 7 }]]]);
    const outcomes = [
      await ofA.patch(`${path}/${row.$rowID}`, { a: 2 }),
      await ofA.post(path, [{ a: 3 }]),
      await ofA.post(path, { $stashID: stashId }),
      await ofA.put(`/tables/${id}`, [{ a: 1 }]),
      await ofA.head(path),
      await ofA.patch(`/tables/${id}`, { name: 'x' }),
      await ofA.delete(`/tables/${id}`),
      await ofA.get(path),
      await ofA.delete(`/tables/${id}`),
    ].map(outcomeOf);
    expect(outcomes).toEqual(['200', '201', '201', '200', '200', '200', '200', '404 table_not_found', '200']);
  });

  test('has Idempotency-Keys of its own', async () => {
    const key = { 'idempotency-key': 'the same' };
    const [first, second, third] = [
      await create(ofA, {}, key),
      await create(ofB, {}, key),
      await create(mine.client, {}, key),
    ];
    expect(new Set([first, second, third]).size).toBe(3);
    expect(await create(ofA, {}, key)).toBe(first);
  });

  test('a token of another team reaches nothing of this team, even if both are for an app of the same name', async () => {
    const { client } = await team.createToken({ appId: 'a' });
    expect(await idsOf(client)).toEqual([]);
    for (const [, request] of requests) expect((await request(client, tables.a)).status).toBe(404);
    expect(outcomeOf(await ofA.get(`/tables/${tables.a}`))).toBe('200');
  });
});
