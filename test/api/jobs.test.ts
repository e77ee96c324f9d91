/** Spec 4.2 and 4.7, decisions 1 and 3: `x-service-asynchronous`, and the states of jobs. */
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { formatJobId, parseJobId, type Job } from '../../src/storage/security/job-id.ts';
import { partitionCount, partitionOf } from '../../src/log/partition.ts';
import { promptly, useApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { createTable, leavingUnchanged, stateOf, unknownTableId, type MadeTable } from '../support/tables.ts';

const { api, client } = useApi(promptly);
const operator = useOperator({ api });
const permitted = { 'x-service-asynchronous': 'true' };
const malformed = '400 request_validation_error';
const noJob = '404 job_not_found';

/** Writes that accept a job, each with its answer without a job. */
const writes: [string, (table: MadeTable, client: Client, headers: Record<string, string>) => Promise<Answer>][] = [
  [
    'create a table',
    (_, by, headers) => by.post('/tables', { name: 'n', rows: [{ a: 1 }, { a: 2 }], appsToLink: ['x'] }, headers),
  ],
  ['create a table without rows', (_, by, headers) => by.post('/tables', { name: 'n', rows: [] }, headers)],
  ['create a table of a bare array', (_, by, headers) => by.post('/tables?name=n', [{ a: 1 }], headers)],
  ['add rows', ({ path }, by, headers) => by.post(path, [{ a: 1 }, { a: 2 }], headers)],
  [
    'add a block',
    ({ path }, by, headers) =>
      by.post(
        path,
        Array.from({ length: 500 }, (_row, a) => ({ a })),
        headers,
      ),
  ],
  [
    'add several blocks',
    ({ path }, by, headers) =>
      by.post(
        path,
        Array.from({ length: 25_000 }, (_row, a) => ({ a })),
        headers,
      ),
  ],
  [
    'overwrite a table',
    ({ id }, by, headers) => by.send(`/tables/${id}`, { method: 'PUT', body: [{ a: 5 }, { a: 6 }], headers }),
  ],
  [
    'overwrite a table with many rows, of which some keep their IDs',
    async ({ id }, by, headers) => {
      const rows = [...(await by.rows(id)), ...Array.from({ length: 25_000 }, (_row, a) => ({ a }))];
      return by.send(`/tables/${id}`, { method: 'PUT', body: rows, headers });
    },
  ],
  [
    'overwrite a table with nothing',
    ({ id }, by, headers) => by.send(`/tables/${id}`, { method: 'PUT', body: [], headers }),
  ],
  ['add no rows', ({ path }, by, headers) => by.post(path, [], headers)],
];

const idsIn = (data: { rowIDs: readonly string[] }): number => data.rowIDs.length;

describe('a client that accepts a job', () => {
  test.each(writes)('can %s, and the result of the job is the usual answer', async (_, write) => {
    const table = await createTable(client(), [{ a: 0 }]);
    const plain = await write(table, client(), {});
    const answer = await write(table, client(), permitted);
    expect([plain.status < 300, answer.status]).toEqual([true, 202]);
    const { jobID, tableID } = answer.json.data;
    const job = await untilDone(client(), jobID);
    const { result, status } = job.json.data;
    expect([status, Object.keys(result)]).toEqual(['succeeded', Object.keys(plain.json.data)]);
    expect(result.tableID).toBe(tableID);
    const there = (await client().rows(tableID ?? table.id)).map(({ $rowID }) => $rowID);
    expect(there.slice(there.length - idsIn(result))).toEqual(result.rowIDs);
    // A later request gets the same answer.
    expect((await client().get(`/jobs/${jobID}`)).text).toBe(job.text);
    const rows = idsIn(result);
    expect((await client().get(`/jobs/${jobID}/progress`)).json.data).toEqual({
      phase: 'done',
      rowsDone: rows,
      rowsTotal: rows,
    });
  });

  test.each<[string, (table: MadeTable) => Promise<Answer>, RegExp]>([
    [
      'a wrong cell',
      ({ path }) => client().post(path, [{ a: 1 }, { a: 'x' }], permitted),
      /^rows\[1\]\.a: "x" does not fit/,
    ],
    [
      'an unknown table',
      () => client().post(`/tables/${unknownTableId}/rows`, [{ a: 1 }], permitted),
      /^there is no such table$/,
    ],
    [
      'a changed table',
      ({ path }) => client().post(path, [{ a: 1 }], { ...permitted, 'if-match': '"1"' }),
      /^the table has changed/,
    ],
    [
      'a reserved column',
      () => client().post('/tables', { name: 'n', rows: [{ $stashID: 1 }] }, permitted),
      /reserved/,
    ],
    ['an unknown stash', ({ path }) => client().post(path, { $stashID: 's' }, permitted), /^there is no stash s$/],
  ])('is told by the job why it was refused: %s', async (_, write, message) => {
    const table = await createTable(client(), [{ a: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await write(table);
      expect(answer.status).toBe(202);
      const { jobID, tableID } = answer.json.data;
      const { data } = (await untilDone(client(), jobID)).json;
      expect(data).toEqual({ status: 'failed', error: { message: expect.stringMatching(message) } });
      const rowsTotal = parseJobId(operator().keys, jobID)!.rows;
      expect((await client().get(`/jobs/${jobID}/progress`)).json.data).toEqual({
        phase: 'failed',
        rowsDone: 0,
        rowsTotal,
      });
      if (tableID !== undefined)
        expect(outcomeOf(await client().get(`/tables/${tableID}/rows`))).toBe('404 table_not_found');
    });
  });

  test('gets the URL of the job, and when to ask', async () => {
    const answer = await client().post('/tables', { name: 'n', rows: [] }, permitted);
    expect(answer.headers.get('location')).toBe(`/jobs/${answer.json.data.jobID}`);
    expect(outcomeOf(await client().get(answer.headers.get('location')!))).toBe('200');
  });

  test('gets a malformed request refused at once, without a job', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      for (const body of ['', '[', '[1]', '[{"a":1,"a":2}]', '{"rows":[{"a":1}]', '{"x":1}']) {
        expect(outcomeOf(await client().post(table.path, body, permitted))).toBe(malformed);
      }
      expect(outcomeOf(await client().post('/tables', { rows: [] }, permitted))).toBe(malformed);
      expect(
        outcomeOf(await client().post(table.path, [{ a: 1 }], { ...permitted, 'content-type': 'text/plain' })),
      ).toBe(malformed);
    });
  });

  test('gets the error of a large body that is broken at its end', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const rows = JSON.stringify(Array.from({ length: 25_000 }, (_, a) => ({ a })));
    await leavingUnchanged(client(), table.path, async () => {
      expect(outcomeOf(await client().post(table.path, rows.slice(0, -1), permitted))).toBe(malformed);
    });
  });

  test('gets the usual answer from a request that cannot become a job', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    expect(outcomeOf(await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 2 }, permitted))).toBe('200');
    expect(outcomeOf(await client().delete(`${table.path}/${table.rowIds[0]}`, permitted))).toBe('200');
  });

  test('sees the job fail if its team is suspended', async () => {
    const team = await api().createTeam();
    await team.suspend();
    const { json } = await team.client.post('/tables', { name: 'n', rows: [] }, permitted);
    expect((await untilDone(team.client, json.data.jobID)).json.data).toMatchObject({ status: 'failed' });
  });
});

describe('the header x-service-asynchronous', () => {
  const requests = ({ id, path }: MadeTable): [string, string][] => [
    ['POST', path],
    ['POST', '/tables?name=n'],
    ['PUT', `/tables/${id}`],
  ];

  test.each(['', 'TRUE', 'True', '1', 'yes', 'true, true', 'true;', '"true"'])(
    'is refused if it is %j',
    async (value) => {
      const table = await createTable(client(), [{ a: 1 }]);
      await leavingUnchanged(client(), table.path, async () => {
        for (const [method, path] of requests(table)) {
          const answer = await client().send(path, {
            method,
            body: [{ a: 1 }],
            headers: { 'x-service-asynchronous': value },
          });
          expect(outcomeOf(answer)).toBe(malformed);
          expect(answer.json.error.message).toBe('x-service-asynchronous: must be true or false');
        }
      });
    },
  );

  test('changes nothing if it is false', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    for (const [method, path] of requests(table)) {
      const answer = await client().send(path, {
        method,
        body: [{ a: 1 }],
        headers: { 'x-service-asynchronous': 'false' },
      });
      expect(outcomeOf(answer)).toBe(method === 'PUT' ? '200' : '201');
    }
  });
});

describe('with an Idempotency-Key', () => {
  test('every try gets a job of the same command', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const headers = { ...permitted, 'idempotency-key': randomUUID() };
    const answers = await Promise.all(Array.from({ length: 5 }, () => client().post(table.path, [{ a: 1 }], headers)));
    // The last ones may find it done.
    expect(answers.map(({ status }) => status)).toContain(202);
    const results = await Promise.all(
      answers.map(async ({ status, json }) => {
        if (status === 201) return json.data as unknown;
        const { data } = (await untilDone(client(), json.data.jobID)).json;
        expect(data.status).toBe('succeeded');
        return data.result as unknown;
      }),
    );
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(await client().rows(table.id)).toHaveLength(2);
  });

  test('the job of a different request under the key fails', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const headers = { ...permitted, 'idempotency-key': randomUUID() };
    const answers = [
      await client().post(table.path, [{ a: 1 }], headers),
      await client().post(table.path, [{ a: 2 }], headers),
    ];
    const message = 'Idempotency-Key: this key was used for another request. Use a new key.';
    const jobs = [];
    for (const { status, json } of answers) {
      // If the first one is done already, the second one has no job.
      const isDone = status !== 202;
      if (isDone) expect(json.error.message).toBe(message);
      jobs.push(
        isDone ? { status: 'failed', error: { message } } : (await untilDone(client(), json.data.jobID)).json.data,
      );
    }
    // While both are in flight, either may be the first in the log.
    const [refused, done] = jobs.toSorted((a, b) => (a.status < b.status ? -1 : 1));
    expect(done.status).toBe('succeeded');
    expect(refused).toEqual({ status: 'failed', error: { message } });
    expect(await client().rows(table.id)).toHaveLength(2);
  });

  test('a table gets the ID of its first try, so every try waits for that outcome', async () => {
    const headers = { ...permitted, 'idempotency-key': randomUUID() };
    const body = { name: 'n', rows: [{ a: 1 }] };
    const answers = await Promise.all(Array.from({ length: 5 }, () => client().post('/tables', body, headers)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(outcomeOf(answers[0]!)).toBe('201');
  });
});

describe('a job', () => {
  let team: Team;
  let known: Job;
  const minute = 60_000;
  const day = 24 * 60 * minute;
  const idOf = (changes: Partial<Job> = {}): string => formatJobId(operator().keys, { ...known, ...changes });
  const statusOf = async (changes: Partial<Job>): Promise<string> =>
    (await team.client.get(`/jobs/${idOf(changes)}`)).json.data.status;
  beforeAll(async () => {
    team = await api().createTeam();
    const { json } = await team.client.post('/tables', { name: 'n', rows: [{ a: 1 }] }, permitted);
    await untilDone(team.client, json.data.jobID);
    known = parseJobId(operator().keys, json.data.jobID)!;
    expect(known.partition).toBe(partitionOf(team.id, partitionCount));
  });

  test('without an outcome is running, and later has failed', async () => {
    const commandId = randomUUIDv7();
    expect(await statusOf({ commandId })).toBe('running');
    const lost = { commandId, notAfter: Date.now() - 2 * minute };
    const isRunning = async (): Promise<boolean> => (await statusOf(lost)) === 'running';
    // If there are two APIs, they answer in turn, and one may know the outcome before the other.
    await sleepUntil(async () => !(await isRunning()) && !(await isRunning()), 'all is projected that was in the log');
    expect((await team.client.get(`/jobs/${idOf(lost)}`)).json.data).toEqual({
      status: 'failed',
      error: { message: expect.stringContaining('It changed nothing.') },
    });
    const progress = async (changes: Partial<Job>): Promise<unknown> =>
      (await team.client.get(`/jobs/${idOf(changes)}/progress`)).json.data;
    expect(await progress({ commandId, rows: 7 })).toEqual({
      phase: 'waiting',
      rowsDone: 0,
      rowsTotal: 7,
      eventsAhead: expect.any(Number),
    });
    expect(await progress({ commandId, rows: null })).toMatchObject({ phase: 'waiting', rowsTotal: null });
    expect(await progress({ ...lost, rows: 7 })).toEqual({ phase: 'failed', rowsDone: 0, rowsTotal: 7 });
    expect(await progress({ rows: null })).toEqual({ phase: 'done', rowsDone: 1, rowsTotal: 1 });
  });

  test('is known for seven days', async () => {
    expect(await statusOf({ notAfter: Date.now() - 7 * day + 2 * minute })).toBe('succeeded');
    for (const notAfter of [Date.now() - 7 * day, 0]) {
      expect(outcomeOf(await team.client.get(`/jobs/${idOf({ notAfter })}`))).toBe(noJob);
      expect(outcomeOf(await team.client.get(`/jobs/${idOf({ notAfter })}/progress`))).toBe(noJob);
    }
  });

  test.each<[string, () => string]>([
    ["another team's", () => idOf({ teamId: randomUUIDv7() })],
    ['a forged one', () => formatJobId({ current: { id: 1, bytes: new Uint8Array(32) }, find: () => null }, known)],
    ['one whose signature is cut', () => idOf().slice(0, -4)],
    ['one with another command', () => `${idOf().slice(0, 40)}${idOf()[40] === 'A' ? 'B' : 'A'}${idOf().slice(41)}`],
    ['a word', () => 'job'],
    ['a UUID', () => unknownTableId],
    ['a long one', () => 'A'.repeat(5_000)],
    ['other characters', () => encodeURIComponent('ä/"\\\0')],
    ['a blank', () => '%20'],
  ])('is not found: %s', async (_, id) => {
    for (const path of [`/jobs/${id()}`, `/jobs/${id()}/progress`])
      expect(outcomeOf(await team.client.get(path))).toBe(noJob);
  });

  test('is not found by another team, and reveals nothing to it', async () => {
    const answers = await Promise.all([idOf(), 'x'].map((id) => client().get(`/jobs/${id}`)));
    expect(answers.map(outcomeOf)).toEqual([noJob, noJob]);
    expect(answers[0]!.text).toBe(answers[1]!.text);
  });

  test.each<[string, string, string]>([
    ['POST', '/jobs', '405 method_not_allowed'],
    ['GET', '/jobs/', noJob],
    ['GET', '/jobs/x?a=1', malformed],
    ['GET', '/jobs/x/progress?limit=1', malformed],
    ['GET', '/jobs/x/result', '404 not_found'],
    ['DELETE', '/jobs/x', '405 method_not_allowed'],
    ['POST', '/jobs/x/progress', '405 method_not_allowed'],
  ])('%s %s is answered with %s', async (method, path, outcome) => {
    expect(outcomeOf(await client().send(path, { method }))).toBe(outcome);
  });

  test('requires a token', async () => {
    const response = await fetch(`${api().url}/jobs/${idOf()}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { type: 'request_error' } });
  });

  test('changes no version when it is read', async () => {
    const table = await createTable(team.client, [{ a: 1 }]);
    const state = await stateOf(team.client, table.path);
    for (let round = 0; round < 3; round += 1) await team.client.get(`/jobs/${idOf()}`);
    expect(await stateOf(team.client, table.path)).toEqual(state);
  });
});
