/** `GET /jobs`, decisions 3: the jobs of a team, newest first. */
import { expect, test } from '@jest/globals';
import { formatJobId, parseJobId } from '../../src/storage/security/job-id.ts';
import { forgetJobs } from '../../src/api/jobs/job-notes.ts';
import { promptly, useApi, type Team } from '../support/api.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { stashOf } from '../support/stashes.ts';
import { createTable } from '../support/tables.ts';

const { api } = useApi(promptly);
const operator = useOperator({ api });
const permitted = { 'x-service-asynchronous': 'true' };
const malformed = '400 request_validation_error';

interface ListedJob {
  readonly id: string;
  readonly created: string;
}

/** One process, because another one lists the jobs of this one a moment later. */
const only = ({ client }: { readonly client: Client }): Client => new Client(api().url, client.token);

const jobsOf = async (client: Client, query = ''): Promise<ListedJob[]> =>
  (await client.get(`/jobs${query}`)).json.data;

/** Starts this many jobs, one after the other. Returns the last one first. */
async function startJobs(client: Client, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1)
    ids.unshift((await client.post('/tables', { name: `table ${n}`, rows: [] }, permitted)).json.data.jobID);
  return ids;
}

/** In the order of the list: jobs of the same millisecond are in the order of their command IDs, which are random. */
const inOrder = (ids: readonly string[]): string[] =>
  ids.toSorted((a, b) => {
    const [one, other] = [a, b].map((id) => parseJobId(operator().keys, id)!);
    return other!.notAfter - one!.notAfter || (one!.commandId < other!.commandId ? 1 : -1);
  });

test('a team without jobs has an empty list, which is not kept by caches', async () => {
  const { client } = await api().createTeam();
  const table = await createTable(client, [{ a: 1 }]);
  await client.post(table.path, [{ a: 2 }]);
  const answer = await client.get('/jobs');
  expect([answer.text, answer.headers.get('cache-control')]).toEqual(['{"data":[]}', 'no-store']);
});

test('a job shows the request, its time, its table and stash, and its state', async () => {
  const team = await api().createTeam();
  const client = only(team);
  const began = Date.now() - 1000;
  const table = await createTable(client, [{ a: 1 }]);
  const stash = await stashOf(client, { 1: [{ a: 1 }, { a: 2 }] });
  const asked = [
    await client.post(table.path, { $stashID: stash }, permitted),
    await client.post(table.path, [{ a: 'x' }], permitted),
    await client.put(`/tables/${table.id}`, [{ a: 5 }, { a: 6 }, { a: 7 }], permitted),
    await client.post('/tables', { name: 'n', rows: { $stashID: stash } }, permitted),
    await client.post('/tables', { name: 'n', rows: [] }, { ...permitted, 'idempotency-key': 'once' }),
  ];
  expect(asked.map(({ status }) => status)).toEqual([202, 202, 202, 202, 201]);
  for (const { json } of asked.slice(0, 4)) await untilDone(client, json.data.jobID);
  const listed = await jobsOf(client);
  const done = (rows: number) => ({ phase: 'done', rowsDone: rows, rowsTotal: rows });
  const common = { created: expect.any(String), tableID: table.id, stashID: null, status: 'succeeded' };
  const id = (at: number): string => asked[at]!.json.data.jobID;
  expect(listed.map((job) => job.id)).toEqual(inOrder([0, 1, 2, 3].map(id)));
  const byId = new Map(listed.map((job) => [job.id, job]));
  expect(byId.get(id(0))).toEqual({ ...common, id: id(0), operation: 'addRows', stashID: stash, progress: done(2) });
  expect(byId.get(id(1))).toEqual({
    ...common,
    id: id(1),
    operation: 'addRows',
    status: 'failed',
    error: { message: expect.stringContaining('does not fit') },
    progress: { phase: 'failed', rowsDone: 0, rowsTotal: 1 },
  });
  expect(byId.get(id(2))).toEqual({ ...common, id: id(2), operation: 'overwriteTable', progress: done(3) });
  expect(byId.get(id(3))).toEqual({
    ...common,
    id: id(3),
    operation: 'createTable',
    tableID: asked[3]!.json.data.tableID,
    stashID: stash,
    progress: done(2),
  });
  for (const { created } of listed)
    expect([Date.parse(created) >= began, Date.parse(created) <= Date.now() + 1000]).toEqual([true, true]);
});

test('a job on a missing table, or on a table of another team, has no table', async () => {
  const team = await api().createTeam();
  const client = only(team);
  const theirs = await createTable((await api().createTeam()).client, []);
  const mine = await createTable(client, []);
  for (const { path } of [{ path: '/tables/none/rows' }, theirs, mine]) {
    const { jobID } = (await client.post(path, [{ a: 1 }], { ...permitted, 'idempotency-key': 'k' })).json.data;
    await untilDone(client, jobID);
  }
  await client.delete(`/tables/${mine.id}`);
  expect((await jobsOf(client)).map((job) => (job as ListedJob & { readonly tableID: unknown }).tableID)).toEqual([
    null,
    null,
    null,
  ]);
});

test('every process lists it', async () => {
  const team = await api().createTeam();
  const [id] = await startJobs(only(team), 1);
  for (const { url, role } of api().processes) {
    if (role === 'projector') continue;
    const client = new Client(url, team.client.token);
    await sleepUntil(async () => (await jobsOf(client)).length > 0, 'the job is listed');
    expect((await jobsOf(client)).map((job) => job.id)).toEqual([id]);
  }
});

test('pages continue each other, newest first, even if new jobs begin meanwhile', async () => {
  const team = await api().createTeam();
  const client = only(team);
  const ids = inOrder(await startJobs(client, 7));
  expect((await jobsOf(client)).map(({ id }) => id)).toEqual(ids);
  const found: string[] = [];
  const sizes: number[] = [];
  let query = '?limit=3';
  for (;;) {
    const { data, continuation } = (await client.get(`/jobs${query}`)).json;
    found.push(...data.map(({ id }: ListedJob) => id));
    sizes.push(data.length);
    if (continuation === undefined) break;
    await startJobs(client, 1);
    query = `?limit=3&continuation=${continuation}`;
  }
  expect([found, sizes]).toEqual([ids, [3, 3, 1]]);
});

test("no team sees jobs of another team, and the token of an app sees only jobs of that app's tokens", async () => {
  const team = await api().createTeam();
  const [ofShop, alsoOfShop, ofStore, reader] = await Promise.all([
    team.createToken({ appId: 'shop' }),
    team.createToken({ appId: 'shop' }),
    team.createToken({ appId: 'store' }),
    team.createToken({ readOnly: true }),
  ]);
  const mine = await startJobs(only(team), 2);
  const shops = inOrder(await startJobs(only(ofShop), 3));
  const idsFor = async (token: { readonly client: Client }, query = ''): Promise<string[]> =>
    (await jobsOf(only(token), query)).map(({ id }) => id);
  expect(await idsFor(ofShop)).toEqual(shops);
  expect(await idsFor(alsoOfShop, `?limit=2&continuation=${shops[0]}`)).toEqual(shops.slice(1));
  expect(await idsFor(ofStore)).toEqual([]);
  expect(await idsFor(reader)).toEqual(inOrder([...mine, ...shops]));
  expect(await idsFor(await api().createTeam())).toEqual([]);
});

test.each<[string, (team: Team) => string]>([
  ['a limit of 0', () => 'limit=0'],
  ['an unknown parameter', () => 'status=running'],
  ['a continuation that is none', () => 'continuation=x'],
  [
    'a job of another team',
    ({ id }) => {
      const job = {
        teamId: id.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        partition: 0,
        commandId: id,
        notAfter: Date.now(),
        rows: 0,
        requestTag: 0n,
      };
      return `continuation=${formatJobId(operator().keys, job)}`;
    },
  ],
])('is refused: %s', async (_, query) => {
  const team = await api().createTeam();
  expect(outcomeOf(await team.client.get(`/jobs?${query(team)}`))).toBe(malformed);
});

test('jobs are forgotten after seven days, and no longer listed', async () => {
  const team = await api().createTeam();
  const client = only(team);
  const [old, young] = await startJobs(client, 2);
  expect(await jobsOf(client)).toHaveLength(2);
  const { pool } = operator().database;
  const counted = async (): Promise<number> =>
    (await pool.query('select from tablog_jobs.jobs where team_id = $1', [team.id])).rows.length;
  const day = 24 * 3_600_000;
  await pool.query('update tablog_jobs.jobs set not_after = not_after - $1 where job_id = $2', [8 * day, old]);
  expect((await jobsOf(client)).map(({ id }) => id)).toEqual([young]);
  expect(await counted()).toBe(2);
  await forgetJobs(pool, operator().log.now() - 7 * day);
  expect(await counted()).toBe(1);
});
