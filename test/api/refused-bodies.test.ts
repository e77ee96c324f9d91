/** Bodies of requests that the committed state refuses: they are judged to their end, and nothing of them is kept. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { recordsOf, type TeamRecord } from '../support/log-records.ts';
import { useOperator } from '../support/operator.ts';
import { createTable, stateOf, unknownRowId, unknownTableId, type MadeTable } from '../support/tables.ts';

const { api } = useOwnApi({ TABLES_MAX: '2', STASHES_MAX: '1', STASH_CHUNKS_MAX: '1', STASH_ROWS_MAX: '4000' });
const operator = useOperator({ api });

const rows = (count: number, text: string): unknown[] => Array.from({ length: count }, (_, n) => ({ n, text }));
const bodies = { 'one block': rows(500, 'x'.repeat(500)), 'several blocks': rows(1500, 'x'.repeat(1000)) };
/** The same in JSON text, but for the end of the last row. */
const malformed = (body: unknown[]): string => `${JSON.stringify(body).slice(0, -2)},}]`;

let team: Team;
let table: MadeTable;

beforeEach(async () => {
  team = await api().createTeam();
  table = await createTable(team.client, [{ n: 0, text: 'a' }]);
});

const recorded = (): Promise<TeamRecord[]> => recordsOf(operator(), team.id);
type Headers = Readonly<Record<string, string>>;
type Send = (body: unknown, headers?: Headers) => Promise<Answer>;
const add: Send = (body, headers) => team.client.post(table.path, body, headers);

/** A reason for refusing a request: how to bring it about, and the request. */
const refusals: readonly [name: string, outcome: string, message: string | RegExp, arrange: () => Promise<unknown>, send: Send][] = [
  ['no such table, to add to', '404 table_not_found', 'there is no such table', async () => undefined,
    (body, headers) => team.client.post(`/tables/${unknownTableId}/rows`, body, headers)],
  ['no such table, to overwrite', '404 table_not_found', 'there is no such table', async () => undefined,
    (body, headers) => team.client.put(`/tables/${unknownTableId}`, body, headers)],
  ['a deleted table', '404 table_not_found', 'there is no such table', () => team.client.delete(`/tables/${table.id}`), add],
  ['a version that has passed', '412 precondition_failed', /^the table has changed: its version is \d+, not \d+ or older$/, () => add([{ n: 1 }]),
    (body, headers) => add(body, { ...headers, 'if-match': `"${table.version}"` })],
  ['a suspended team', '402 payment_required', 'the team is suspended', () => team.suspend(), add],
  ['a suspended team, a new table', '402 payment_required', 'the team is suspended', () => team.suspend(),
    (body, headers) => team.client.post('/tables?name=n', body, headers)],
  ['too many tables', '400 limit_exceeded', /^the team has 2 tables and may have at most 2/, () => createTable(team.client, []),
    (body, headers) => team.client.post('/tables?name=n', body, headers)],
  ['too many stashes', '400 limit_exceeded', /^the team has 1 stashes and may have at most 1/, () => team.client.put('/stashes/a/1', [{ n: 1 }]),
    (body, headers) => team.client.put('/stashes/b/1', body, headers)],
  ['a full stash', '400 limit_exceeded', 'the stash would have more than 1 chunks', () => team.client.put('/stashes/a/1', [{ n: 1 }]),
    (body, headers) => team.client.put('/stashes/a/2', body, headers)],
];

test.each(refusals)('%s: nothing is in the log, what is malformed is refused first, and under a key the refusal is recorded', async (_name, outcome, message, arrange, send) => {
  await arrange();
  const before = await recorded();
  for (const body of Object.values(bodies)) {
    const answer = await send(body);
    expect(outcomeOf(answer)).toBe(outcome);
    expect(answer.json.error.message).toMatch(message);
    expect(outcomeOf(await send(malformed(body)))).toBe('400 request_validation_error');
  }
  expect(await recorded()).toHaveLength(before.length);

  const key = { 'idempotency-key': randomUUID() };
  const body = bodies['several blocks'];
  const answers = [await send(body, key), await send(body, key)];
  expect(answers.map(outcomeOf)).toEqual([outcome, outcome]);
  expect(answers[1]!.text).toBe(answers[0]!.text);
  expect(outcomeOf(await send([{ n: 1 }], key))).toBe('400 idempotency_key_reused');
  const after = (await recorded()).slice(before.length);
  expect(after.map(({ event }) => event.data.type)).toEqual(Array(3).fill('RequestRefused'));
  for (const { bytes } of after) expect(bytes).toBeLessThan(500);
});

test('a refusal that is recorded under a key stays, though the reason has gone', async () => {
  await team.suspend();
  const key = { 'idempotency-key': randomUUID() };
  expect(outcomeOf(await add(bodies['one block'], key))).toBe('402 payment_required');
  await team.resume();
  const state = await stateOf(team.client, table.path);
  expect(outcomeOf(await add(bodies['one block'], key))).toBe('402 payment_required');
  expect(await stateOf(team.client, table.path)).toEqual(state);
});

test('what took effect under a key is answered again, though the state now refuses it', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const asked = (): Promise<Answer> => add(bodies['several blocks'], { ...key, 'if-match': `"${table.version}"` });
  const first = await asked();
  expect(outcomeOf(first)).toBe('201');
  expect(await asked()).toMatchObject({ status: 201, text: first.text, version: first.version });
});

test('a chunk that replaces another one may be sent though the stash is full, and may not bring too many rows', async () => {
  const put: Send = (body) => team.client.put('/stashes/a/1', body);
  expect([outcomeOf(await put(rows(4000, 'x'))), outcomeOf(await put(rows(4000, 'y')))]).toEqual(['200', '200']);
  const before = await recorded();
  for (const text of ['z', 'z'.repeat(500)]) {
    const refused = await put(rows(4001, text));
    expect([outcomeOf(refused), refused.json.error.message]).toEqual(['400 limit_exceeded', 'the stash would have more than 4000 rows']);
  }
  expect(await recorded()).toHaveLength(before.length);
});

describe('a large patch', () => {
  const large = { text: 'x'.repeat(100_000) };

  test.each<[string, outcome: string, message: string | RegExp, path: () => string]>([
    ['of a row in no table', '404 table_not_found', 'there is no such table', () => `/tables/${unknownTableId}/rows/${table.rowIds[0]}`],
    ['of no row', '404 row_not_found', 'there is no such row', () => `${table.path}/${unknownRowId}`],
    ['of a version that has passed', '412 precondition_failed', /^the row has changed: its version is \d+, not \d+ or older$/, () => `${table.path}/${table.rowIds[0]}`],
  ])('%s', async (_name, outcome, message, path) => {
    const ifMatch = { 'if-match': `"${table.version}"` };
    await team.client.patch(`${table.path}/${table.rowIds[0]}`, { text: 'b' });
    const before = await recorded();
    const answer = await team.client.send(path(), { method: 'PATCH', body: large, headers: ifMatch });
    expect(outcomeOf(answer)).toBe(outcome);
    expect(answer.json.error.message).toMatch(message);
    expect(outcomeOf(await team.client.patch(path(), `${JSON.stringify(large).slice(0, -1)},}`))).toBe('400 request_validation_error');
    expect(await recorded()).toHaveLength(before.length);
  });

  test('that took effect under a key is answered again, though the version has passed', async () => {
    const asked = (): Promise<Answer> => team.client.send(`${table.path}/${table.rowIds[0]}`, {
      method: 'PATCH', body: large, headers: { 'if-match': `"${table.version}"`, 'idempotency-key': 'once' },
    });
    const first = await asked();
    expect(outcomeOf(first)).toBe('200');
    expect(await asked()).toMatchObject({ status: 200, version: first.version });
  });
});
