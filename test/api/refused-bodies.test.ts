/**
 * Bodies of requests that the committed state refuses: the service checks them to their end, and stores nothing of
 * them.
 */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { recordsOfTeam, type TeamRecord } from '../support/log-records.ts';
import { csv } from '../support/media-types.ts';
import { useOperator } from '../support/operator.ts';
import { createTable, stateOf, unknownRowId, unknownTableId, type MadeTable } from '../support/tables.ts';

const { api } = useOwnApi({ TABLES_MAX: '2', STASHES_MAX: '1', STASH_CHUNKS_MAX: '1', STASH_ROWS_MAX: '4000' });
const operator = useOperator({ api });

const rows = (count: number, text: string): unknown[] => Array.from({ length: count }, (_, n) => ({ n, text }));
const bodies = { 'one block': rows(500, 'x'.repeat(500)), 'several blocks': rows(1500, 'x'.repeat(1000)) };
/** The same as JSON text, without the end of the last row. */
const malformed = (body: unknown[]): string => `${JSON.stringify(body).slice(0, -2)},}]`;

let team: Team;
let table: MadeTable;

beforeEach(async () => {
  team = await api().createTeam();
  table = await createTable(team.client, [{ n: 0, text: 'a' }]);
});

const recorded = (): Promise<TeamRecord[]> => recordsOfTeam(operator(), team.id);
type Headers = Readonly<Record<string, string>>;
type Send = (body: unknown, headers?: Headers) => Promise<Answer>;
const add: Send = (body, headers) => team.client.post(table.path, body, headers);

/** A reason for a refusal: how to create it, and the request. */
const refusals: readonly [
  name: string,
  outcome: string,
  message: string | RegExp,
  arrange: () => Promise<unknown>,
  send: Send,
][] = [
  [
    'no such table, to add to',
    '404 table_not_found',
    'there is no such table',
    async () => undefined,
    (body, headers) => team.client.post(`/tables/${unknownTableId}/rows`, body, headers),
  ],
  [
    'no such table, to overwrite',
    '404 table_not_found',
    'there is no such table',
    async () => undefined,
    (body, headers) => team.client.put(`/tables/${unknownTableId}`, body, headers),
  ],
  [
    'a deleted table',
    '404 table_not_found',
    'there is no such table',
    () => team.client.delete(`/tables/${table.id}`),
    add,
  ],
  [
    'a version that has passed',
    '412 precondition_failed',
    /^the table has changed: its version is \d+, not \d+ or older$/,
    () => add([{ n: 1 }]),
    (body, headers) => add(body, { ...headers, 'if-match': `"${table.version}"` }),
  ],
  ['a suspended team', '402 payment_required', 'the team is suspended', () => team.suspend(), add],
  [
    'a suspended team, a new table',
    '402 payment_required',
    'the team is suspended',
    () => team.suspend(),
    (body, headers) => team.client.post('/tables?name=n', body, headers),
  ],
  [
    'too many tables',
    '400 limit_exceeded',
    /^the team has 2 tables and may have at most 2/,
    () => createTable(team.client, []),
    (body, headers) => team.client.post('/tables?name=n', body, headers),
  ],
  [
    'too many stashes',
    '400 limit_exceeded',
    /^the team has 1 stashes and may have at most 1/,
    () => team.client.put('/stashes/a/1', [{ n: 1 }]),
    (body, headers) => team.client.put('/stashes/b/1', body, headers),
  ],
  [
    'a full stash',
    '400 limit_exceeded',
    'the stash would have more than 1 chunks',
    () => team.client.put('/stashes/a/1', [{ n: 1 }]),
    (body, headers) => team.client.put('/stashes/a/2', body, headers),
  ],
];

test.each(refusals)(
  '%s: the log stays empty, a malformed body is refused as malformed, and a key records the refusal',
  async (_name, outcome, message, arrange, send) => {
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
  },
);

/** Bodies that no table accepts, each with its own refusal. */
const longCell = { n: 1, text: 'x'.repeat(300_000) };
const columns = (count: number): string[] => Array.from({ length: count }, (_, n) => `c${n}`);
const badBodies: readonly [name: string, body: unknown, headers: Headers, outcome: string, message: string][] = [
  ['a long cell', [longCell], {}, '400 limit_exceeded', 'rows[0].text: a value must not be longer than 262144 bytes'],
  [
    'a long cell behind a block',
    [...bodies['several blocks'], longCell],
    {},
    '400 limit_exceeded',
    'rows[1500].text: a value must not be longer than 262144 bytes',
  ],
  [
    'a long row',
    [{ n: 1, text: 'x'.repeat(600_000) }, { n: 2 }],
    {},
    '400 limit_exceeded',
    'rows[0]: a row must not be longer than 524288 bytes',
  ],
  [
    'too many columns',
    columns(2_001).map((id) => ({ [id]: null })),
    {},
    '400 limit_exceeded',
    'rows[2000]: more than 2000 different columns',
  ],
  [
    'a long cell of CSV',
    `n,text\n1,${longCell.text}\n`,
    csv,
    '400 limit_exceeded',
    'rows[0].text: a cell must not be longer than 262144 bytes',
  ],
  [
    'a long line',
    `n,text\n1,${'x'.repeat(600_000)}\n`,
    csv,
    '400 limit_exceeded',
    'rows[0]: a row must not be longer than 524288 bytes',
  ],
  [
    'a header with too many columns',
    `${columns(2_001).join(',')}\n`,
    csv,
    '400 limit_exceeded',
    'header[2000]: more than 2000 columns',
  ],
  [
    'a reserved name in a header',
    'n,$stashID\n1,2\n',
    csv,
    '422 column_id_reserved',
    'header[1]: the column ID "$stashID" is reserved',
  ],
  [
    'a name that stands twice in a header',
    'n,n\n1,2\n',
    csv,
    '422 column_id_not_unique',
    'header[1]: the column ID "n" occurs twice',
  ],
];

/** Two bodies are combined with every reason. The others are combined with two reasons, to keep the run short. */
const [noTable, , , newerVersion] = refusals;
const reasonsBefore = (name: string): typeof refusals =>
  /^a (long cell|reserved name in a header)$/.test(name) ? refusals : [noTable!, newerVersion!];

describe.each(badBodies)('%s', (name, body, headers, own, ownMessage) => {
  test.each(reasonsBefore(name))('is refused later than %s', async (_reason, outcome, message, arrange, send) => {
    const key = { ...headers, 'idempotency-key': randomUUID() };
    await arrange();
    const before = await recorded();
    const answer = await send(body, headers);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, expect.stringMatching(message)]);
    expect(await recorded()).toHaveLength(before.length);
    expect(outcomeOf(await send(body, key))).toBe(outcome);
  });

  test('is refused if it is the only mistake, and the log stays empty', async () => {
    const before = await recorded();
    const requests = [
      add(body, headers),
      team.client.put(`/tables/${table.id}`, body, headers),
      team.client.post('/tables?name=n', body, headers),
      team.client.put('/stashes/a/1', body, headers),
      add(body, { ...headers, 'if-match': `"${table.version}"` }),
    ];
    for (const answer of await Promise.all(requests))
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([own, ownMessage]);
    expect(await recorded()).toHaveLength(before.length);
  });

  test('has one outcome under a key, which is not that of another request', async () => {
    const key = { ...headers, 'idempotency-key': randomUUID() };
    const answers = [await add(body, key), await add(body, key)];
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [answers[0]!.status, answers[0]!.text],
      [answers[0]!.status, answers[0]!.text],
    ]);
    expect(outcomeOf(answers[0]!)).toBe(own);
    expect(outcomeOf(await add([{ n: 1 }], { ...key, 'content-type': 'application/json' }))).toBe(
      '400 idempotency_key_reused',
    );

    const used = { 'idempotency-key': randomUUID() };
    expect(outcomeOf(await add([{ n: 1 }], used))).toBe('201');
    expect(outcomeOf(await add(body, { ...headers, ...used }))).toBe('400 idempotency_key_reused');
  });
});

/** Another mistake in a body, and whether the answer reports it first. */
test.each<[string, unknown, Headers, string, string]>([
  [
    'a wrong cell before a long one',
    [{ n: 'x' }, longCell],
    {},
    '422 column_has_invalid_value',
    'rows[0].n: "x" does not fit',
  ],
  [
    'a wrong cell behind a long one',
    [longCell, { n: 'x' }],
    {},
    '422 column_has_invalid_value',
    'rows[1].n: "x" does not fit',
  ],
  [
    'a wrong cell blocks before',
    [{ n: 'x' }, ...bodies['several blocks'], longCell],
    {},
    '422 column_has_invalid_value',
    'rows[0].n: "x" does not fit',
  ],
  [
    'a wrong cell blocks behind',
    [longCell, ...bodies['several blocks'], { n: 'x' }],
    {},
    '422 column_has_invalid_value',
    'rows[1501].n: "x" does not fit',
  ],
  [
    'a long cell of no column',
    [{ other: longCell.text }],
    {},
    '422 column_id_not_found',
    'rows[0].other: the table has no column',
  ],
  [
    'a wrong cell before a long row',
    [{ n: 'x' }, { text: 'x'.repeat(600_000) }],
    {},
    '400 limit_exceeded',
    'rows[1]: a row must not be longer',
  ],
  [
    'a malformed end behind a long cell',
    JSON.stringify([longCell]).slice(0, -1),
    {},
    '400 request_validation_error',
    'the body stops before its JSON ends',
  ],
  [
    'a malformed end behind a long row',
    `[{"text":"${'x'.repeat(600_000)}"}`,
    {},
    '400 limit_exceeded',
    'rows[0]: a row must not be longer',
  ],
  [
    'a wrong cell of CSV',
    `n,text\nx,y\n1,${longCell.text}\n`,
    csv,
    '422 column_has_invalid_value',
    'rows[0].n: "x" does not fit',
  ],
  [
    'too long a line below a bad header',
    'n,$stashID\n1,2,3\n',
    csv,
    '400 request_validation_error',
    'rows[0]: the line has 3 cells, the header 2',
  ],
  [
    'too long a name behind a reserved one',
    `$stashID,${'é'.repeat(129)},n\n1,2,3\n`,
    csv,
    '400 request_validation_error',
    'header[1]: a column ID must not be longer than 256 bytes',
  ],
  [
    'a long cell below a bad header',
    `n,n\n1,${longCell.text}\n`,
    csv,
    '422 column_id_not_unique',
    'header[1]: the column ID "n" occurs twice',
  ],
  [
    'a wrong cell below a bad header',
    'n,text,text\nx,y,z\n',
    csv,
    '422 column_id_not_unique',
    'header[2]: the column ID "text" occurs twice',
  ],
])('a refused body takes nothing into the log: %s', async (_name, body, headers, outcome, message) => {
  const before = await recorded();
  for (const send of [add, (...args: Parameters<Send>) => team.client.put(`/tables/${table.id}`, ...args)]) {
    const answer = await send(body, headers);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, expect.stringContaining(message)]);
  }
  expect(await recorded()).toHaveLength(before.length);
});

test.each<[string, object[], string, string]>([
  [
    'reserved column',
    [
      { id: 'n', type: 'number' },
      { id: '$rowID', type: 'string' },
    ],
    '422 column_id_reserved',
    'schema.columns[1].id: the column ID "$rowID" is reserved',
  ],
  [
    'type',
    [
      { id: 'n', type: 'boolean' },
      { id: 'text', type: 'string' },
    ],
    '422 column_has_invalid_value',
    "rows[0].n: 1 does not fit the column's type boolean",
  ],
  [
    'right type',
    [
      { id: 'n', type: 'number' },
      { id: 'text', type: 'string' },
    ],
    '400 limit_exceeded',
    'rows[0].text: a value must not be longer than 262144 bytes',
  ],
])('a schema in the request comes before a long cell, by its %s', async (_name, given, outcome, message) => {
  const schema = { columns: given };
  const answers = [
    await team.client.put(`/tables/${table.id}`, { rows: [longCell], schema }),
    await team.client.post('/tables', { name: 'n', rows: [longCell], schema }),
  ];
  for (const answer of answers) expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
});

test('a recorded refusal stays, even if its reason is gone', async () => {
  await team.suspend();
  const key = { 'idempotency-key': randomUUID() };
  expect(outcomeOf(await add(bodies['one block'], key))).toBe('402 payment_required');
  await team.resume();
  const state = await stateOf(team.client, table.path);
  expect(outcomeOf(await add(bodies['one block'], key))).toBe('402 payment_required');
  expect(await stateOf(team.client, table.path)).toEqual(state);
});

test('a repeated write gets its first answer, even if the state would refuse it now', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const asked = (): Promise<Answer> => add(bodies['several blocks'], { ...key, 'if-match': `"${table.version}"` });
  const first = await asked();
  expect(outcomeOf(first)).toBe('201');
  expect(await asked()).toMatchObject({ status: 201, text: first.text, version: first.version });
});

test('a replacing chunk is accepted in a full stash, unless it brings too many rows', async () => {
  const put: Send = (body) => team.client.put('/stashes/a/1', body);
  expect([outcomeOf(await put(rows(4000, 'x'))), outcomeOf(await put(rows(4000, 'y')))]).toEqual(['200', '200']);
  const before = await recorded();
  for (const text of ['z', 'z'.repeat(500)]) {
    const refused = await put(rows(4001, text));
    expect([outcomeOf(refused), refused.json.error.message]).toEqual([
      '400 limit_exceeded',
      'the stash would have more than 4000 rows',
    ]);
  }
  expect(await recorded()).toHaveLength(before.length);
});

describe('a large patch', () => {
  const large = { text: 'x'.repeat(100_000) };

  test.each<[string, outcome: string, message: string | RegExp, path: () => string]>([
    [
      'of a row in no table',
      '404 table_not_found',
      'there is no such table',
      () => `/tables/${unknownTableId}/rows/${table.rowIds[0]}`,
    ],
    ['of no row', '404 row_not_found', 'there is no such row', () => `${table.path}/${unknownRowId}`],
    [
      'of a version that has passed',
      '412 precondition_failed',
      /^the row has changed: its version is \d+, not \d+ or older$/,
      () => `${table.path}/${table.rowIds[0]}`,
    ],
  ])('a large patch %s is refused', async (_name, outcome, message, path) => {
    const ifMatch = { 'if-match': `"${table.version}"` };
    await team.client.patch(`${table.path}/${table.rowIds[0]}`, { text: 'b' });
    const before = await recorded();
    const answer = await team.client.send(path(), { method: 'PATCH', body: large, headers: ifMatch });
    expect(outcomeOf(answer)).toBe(outcome);
    expect(answer.json.error.message).toMatch(message);
    expect(outcomeOf(await team.client.patch(path(), `${JSON.stringify(large).slice(0, -1)},}`))).toBe(
      '400 request_validation_error',
    );
    for (const text of [longCell.text, 'x'.repeat(600_000)]) {
      expect(outcomeOf(await team.client.send(path(), { method: 'PATCH', body: { text }, headers: ifMatch }))).toBe(
        outcome,
      );
    }
    expect(await recorded()).toHaveLength(before.length);
  });

  test.each<[string, unknown, string, string]>([
    ['a long cell', longCell, '400 limit_exceeded', 'text: a value must not be longer than 262144 bytes'],
    [
      'a long row',
      { n: 1, text: 'x'.repeat(600_000) },
      '400 limit_exceeded',
      'a row must not be longer than 524288 bytes',
    ],
    [
      'many columns',
      Object.fromEntries(columns(2_001).map((id) => [id, 1])),
      '400 limit_exceeded',
      'more than 2000 different columns',
    ],
    [
      'a wrong cell and a long one',
      { ...longCell, n: 'x' },
      '422 column_has_invalid_value',
      'n: "x" does not fit the column\'s type number',
    ],
    [
      'a long cell of no column',
      { other: longCell.text },
      '422 column_id_not_found',
      'other: the table has no column "other"',
    ],
    [
      'another row ID and a long cell',
      { ...longCell, $rowID: unknownRowId },
      '400 request_validation_error',
      '$rowID: must be absent, or the ID of the patched row',
    ],
  ])('a large patch with %s is refused', async (_name, body, outcome, message) => {
    const path = `${table.path}/${table.rowIds[0]}`;
    const before = await recorded();
    const answer = await team.client.patch(path, body);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, message]);
    expect(await recorded()).toHaveLength(before.length);
    const key = { 'idempotency-key': randomUUID() };
    expect(outcomeOf(await team.client.send(path, { method: 'PATCH', body: { n: 0 }, headers: key }))).toBe('200');
    if (!outcome.endsWith('request_validation_error')) {
      expect(outcomeOf(await team.client.send(path, { method: 'PATCH', body, headers: key }))).toBe(
        '400 idempotency_key_reused',
      );
    }
  });

  test('that took effect under a key gets its first answer, even if the version has passed', async () => {
    const asked = (): Promise<Answer> =>
      team.client.send(`${table.path}/${table.rowIds[0]}`, {
        method: 'PATCH',
        body: large,
        headers: { 'if-match': `"${table.version}"`, 'idempotency-key': 'once' },
      });
    const first = await asked();
    expect(outcomeOf(first)).toBe('200');
    expect(await asked()).toMatchObject({ status: 200, version: first.version });
  });
});
