/** Decisions 1 and 6: `Idempotency-Key`. */
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { stashOf } from '../support/stashes.ts';
import { createTable, stateOf, unknownTableId, type MadeTable } from '../support/tables.ts';
import { postUpload, sendBytes } from '../support/uploads.ts';

const { client, api } = useApi();
const reused = '400 idempotency_key_reused';
const malformed = '400 request_validation_error';

const many = Array.from({ length: 3_000 }, (_, n) => ({ a: n, b: 'x'.repeat(300) }));
type Write = (table: MadeTable, headers: Record<string, string>) => Promise<Answer>;

/** Writes that would take effect each time they are sent. */
const writes: [string, Write][] = [
  ['create a table', (_, headers) => client().post('/tables', { name: 'n', rows: [{ a: 1 }] }, headers)],
  ['create a table of many rows', (_, headers) => client().post('/tables', { name: 'n', rows: many }, headers)],
  ['add a row', ({ path }, headers) => client().post(path, [{ a: 1 }], headers)],
  ['add many rows', ({ path }, headers) => client().post(`${path}?onSchemaError=updateSchema`, many, headers)],
  ['patch a row', ({ path, rowIds }, headers) => client().patch(`${path}/${rowIds[0]}`, { a: 7 }, headers)],
  ['rename a table', ({ id }, headers) => client().patch(`/tables/${id}`, { name: 'other' }, headers)],
  ['delete a row', ({ path, rowIds }, headers) => client().delete(`${path}/${rowIds[0]}`, headers)],
];

/** Without PUBLIC_URL each API puts its own address into the URLs of files. */
const seen = ({ status, text, version }: Answer): unknown => ({
  status,
  text: text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, ''),
  version,
});

describe('the same key and request have the first answer', () => {
  test.each(writes)('a repetition has the first answer: %s', async (_, write) => {
    const table = await createTable(client(), [{ a: 0 }, { a: 1 }]);
    const headers = { 'idempotency-key': randomUUID() };
    const first = await write(table, headers);
    expect(first.status).toBeLessThan(300);
    await client().patch(`${table.path}/${table.rowIds[1]}`, { a: 50 });
    const state = await stateOf(client(), table.path);
    const tables = (await client().get('/tables')).text;
    expect(seen(await write(table, headers))).toEqual(seen(first));
    expect(await stateOf(client(), table.path)).toEqual(state);
    expect((await client().get('/tables')).text).toBe(tables);
  });

  test.each(writes)('%s, while it is in flight', async (_, write) => {
    const table = await createTable(client(), [{ a: 0 }, { a: 1 }]);
    const before = (await client().get('/tables')).json.data.length;
    const headers = { 'idempotency-key': randomUUID() };
    const answers = await Promise.all(Array.from({ length: 6 }, () => write(table, headers)));
    expect(new Set(answers.map((answer) => answer.text + answer.version)).size).toBe(1);
    expect(answers[0]!.status).toBeLessThan(300);
    const after = (await client().get('/tables')).json.data.length;
    expect(after - before).toBeLessThanOrEqual(1);
    expect((await client().rows(table.id)).length).toBeLessThanOrEqual(2 + many.length);
  });

  test('a repetition gets the first answer even if its precondition fails by now', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const path = `${table.path}/${table.rowIds[0]}`;
    const headers = { 'if-match': `"${table.version}"`, 'idempotency-key': 'k-precondition' };
    const first = await client().patch(path, { a: 1 }, headers);
    await client().patch(path, { a: 2 });
    expect(seen(await client().patch(path, { a: 1 }, headers))).toEqual(seen(first));
    expect((await client().get(path)).json.data.a).toBe(2);
  });

  test('a repetition gets the first answer even if the row is gone', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const path = `${table.path}/${table.rowIds[0]}`;
    const headers = { 'idempotency-key': 'k-gone' };
    const first = await client().patch(path, { a: 1 }, headers);
    await client().delete(path);
    expect(seen(await client().patch(path, { a: 1 }, headers))).toEqual(seen(first));
  });

  test('a repetition gets the first answer even if that is a refusal', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const headers = { 'idempotency-key': 'k-refusal' };
    const first = await client().post(table.path, [{ a: 'x' }], headers);
    expect(outcomeOf(first)).toBe('422 column_has_invalid_value');
    await client().post(`${table.path}?onSchemaError=updateSchema`, [{ a: 'y' }]);
    expect(seen(await client().post(table.path, [{ a: 'x' }], headers))).toEqual(seen(first));
    expect(outcomeOf(await client().post(table.path, [{ a: 'x' }]))).toBe('201');
  });

  test.each<[string, (headers: Record<string, string>) => Promise<Answer>, string]>([
    [
      'an unknown table',
      (headers) => client().post(`/tables/${unknownTableId}/rows`, [{ a: 1 }], headers),
      '404 table_not_found',
    ],
    [
      'an unknown stash',
      (headers) => client().post('/tables', { name: 'n', rows: { $stashID: 's' } }, headers),
      '400 stash_not_found',
    ],
  ])('a refusal is repeated as it was: %s', async (_, write, outcome) => {
    const headers = { 'idempotency-key': randomUUID() };
    const answers = [await write(headers), await write(headers)];
    expect(answers.map(outcomeOf)).toEqual([outcome, outcome]);
    expect(answers[0]!.text).toBe(answers[1]!.text);
  });

  test('a write that changed nothing answers with its first ETag', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const path = `${table.path}/${table.rowIds[0]}`;
    const headers = { 'idempotency-key': 'k-nothing' };
    const first = await client().patch(path, { a: 0 }, headers);
    await client().patch(path, { a: 1 });
    expect(seen(await client().patch(path, { a: 0 }, headers))).toEqual(seen(first));
    expect((await client().get(path)).json.data.a).toBe(1);
  });
});

describe('the same key with another request is refused', () => {
  const base = { body: '[{"a":1}]', query: '?onSchemaError=abort', type: 'application/json' };
  test.each<[string, Partial<typeof base>, Record<string, string>]>([
    ['another body', { body: '[{"a":2}]' }, {}],
    ['another blank in the body', { body: '[{"a":1} ]' }, {}],
    ['an empty list', { body: '[]' }, {}],
    ['another query', { query: '?onSchemaError=dropColumns' }, {}],
    ['no query', { query: '' }, {}],
    ['another Content-Type', { type: 'application/json; charset=utf-8' }, {}],
    ['If-Match', {}, { 'if-match': '"99999999"' }],
    ['x-service-asynchronous', {}, { 'x-service-asynchronous': 'true' }],
  ])('the key is refused with another request: %s', async (_, changes, more) => {
    const table = await createTable(client(), [{ a: 0 }]);
    const send = ({ body, query, type }: typeof base, headers: Record<string, string>): Promise<Answer> =>
      client().post(`${table.path}${query}`, body, { 'content-type': type, 'idempotency-key': 'k', ...headers });
    const first = await send(base, {});
    expect(outcomeOf(first)).toBe('201');
    const state = await stateOf(client(), table.path);
    const other = await send({ ...base, ...changes }, more);
    // A request that accepts a job may be answered with one.
    if (other.status !== 202) expect(outcomeOf(other)).toBe(reused);
    else
      expect((await untilDone(client(), other.json.data.jobID)).json.data).toMatchObject({
        status: 'failed',
        error: { message: expect.stringContaining('another request') },
      });
    expect(await stateOf(client(), table.path)).toEqual(state);
    expect(seen(await send(base, {}))).toEqual(seen(first));
  });

  type Bodiless = readonly [method: string, path: (table: MadeTable) => Promise<string>];
  test.each<[string, Bodiless]>([
    ['delete a row', ['DELETE', async ({ path, rowIds }) => `${path}/${rowIds[0]}`]],
    ['delete a table', ['DELETE', async ({ id }) => `/tables/${id}`]],
    ['delete a stash', ['DELETE', async () => `/stashes/${await stashOf(client(), { 1: [{ a: 1 }] })}`]],
    [
      'complete an upload',
      [
        'POST',
        async () => {
          const created = await postUpload(client());
          await sendBytes(created, 'x');
          return `/apps/shop/uploads/${created.id}/complete`;
        },
      ],
    ],
    ['withdraw a file', ['DELETE', async () => `/apps/shop/uploads/${(await postUpload(client())).id}`]],
  ])('another body where none is needed: %s', async (_, [method, pathOf]) => {
    const table = await createTable(client(), [{ a: 0 }]);
    const path = await pathOf(table);
    const send = (body?: string | Uint8Array, more: Record<string, string> = {}): Promise<Answer> =>
      client().send(path, {
        method,
        headers: { 'idempotency-key': 'k', ...more },
        ...(body === undefined ? {} : { body, bare: true }),
      });
    const first = await send('{}', { 'content-type': 'application/json' });
    expect(outcomeOf(first)).toBe('200');
    expect(seen(await send('{}', { 'content-type': 'application/json' }))).toEqual(seen(first));
    expect(
      seen(await send(gzipSync('{}'), { 'content-type': 'application/json', 'content-encoding': 'gzip' })),
    ).toEqual(seen(first));
    for (const body of ['{"a":1}', '', ' {}', 'x'.repeat(10_000)]) {
      expect([body.slice(0, 9), outcomeOf(await send(body, { 'content-type': 'application/json' }))]).toEqual([
        body.slice(0, 9),
        reused,
      ]);
    }
    expect(outcomeOf(await send())).toBe(reused);
    expect(outcomeOf(await send('x'.repeat(15_000_001), { 'content-type': 'application/json' }))).toBe(
      '413 payload_too_large',
    );
  });

  test('one of several requests with the same key wins while the first is in flight', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const answers = await Promise.all(
      [1, 2, 3, 4].map((a) => client().post(table.path, [{ a }], { 'idempotency-key': 'k' })),
    );
    expect(answers.map(outcomeOf).toSorted()).toEqual(['201', reused, reused, reused]);
    expect(await client().rows(table.id)).toHaveLength(2);
  });
});

describe('independent requests', () => {
  test('have other paths, methods or teams under the same key', async () => {
    const table = await createTable(client(), [{ a: 0 }, { a: 0 }]);
    const [first, second] = table.rowIds.map((id) => `${table.path}/${id}`) as [string, string];
    const headers = { 'idempotency-key': 'shared' };
    const foreign = (await api().createTeam()).client;
    const answers = [
      await client().post(table.path, [{ a: 1 }], headers),
      await client().patch(first, { a: 1 }, headers),
      await client().patch(second, { a: 2 }, headers),
      await client().delete(first, headers),
      await client().post('/tables', [{ a: 1 }], { ...headers, 'content-type': 'application/json' }),
      await client().post('/tables?name=n', [{ a: 1 }], headers),
      await foreign.post('/tables?name=n', [{ a: 2 }], headers),
    ];
    expect(answers.map(outcomeOf)).toEqual(['201', '200', '200', '200', malformed, '201', '201']);
  });

  test('succeed after malformed requests under the same key, which are not recorded', async () => {
    const table = await createTable(client(), [{ a: 0 }]);
    const headers = { 'idempotency-key': 'k' };
    for (const body of ['', '[', '[1]', '[{"a":1,"a":2}]', '[{"a":1e400}]']) {
      expect(outcomeOf(await client().post(table.path, body, headers))).toBe(malformed);
    }
    expect(outcomeOf(await client().post(`${table.path}?x=1`, [{ a: 1 }], headers))).toBe(malformed);
    expect(outcomeOf(await client().post(table.path, [{ a: 1 }], { ...headers, 'if-match': 'x' }))).toBe(malformed);
    expect(outcomeOf(await client().post(table.path, [{ a: 1 }], headers))).toBe('201');
  });
});

test.each<[string, string, string]>([
  ['one character', 'k', '201'],
  ['256 characters', 'k'.repeat(256), '201'],
  ['blanks within, quotes and commas', 'a "b", c', '201'],
  ['257 characters', 'k'.repeat(257), malformed],
  ['nothing', '', malformed],
  ['a tab', 'a\tb', malformed],
  ['beyond ASCII', 'é', malformed],
])('a key of %s', async (_, key, outcome) => {
  const table = await createTable(client(), [{ a: 0 }]);
  const headers = { 'idempotency-key': key };
  expect(outcomeOf(await client().post(table.path, [{ a: 1 }], headers))).toBe(outcome);
  expect(outcomeOf(await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 1 }, headers))).toBe(
    outcome.replace('201', '200'),
  );
});
