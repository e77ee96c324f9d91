/** Batches: docs/spec/batches.md. */
import { describe, expect, test } from '@jest/globals';
import { promptly, useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { cellsOf, createTable, leavingUnchanged, unknownRowId, unknownTableId } from '../support/tables.ts';

const { api, client } = useApi(promptly);
const types = { a: 'number', b: 'string' };
const rows = [{ a: 1, b: 'x' }, { a: 2 }, { a: 3, b: 'z' }];
const malformed = '400 request_validation_error';
type Table = Awaited<ReturnType<typeof createTable>>;
type Operations = readonly object[];

const batchPath = ({ id }: Table): string => `/tables/${id}/batch`;
const send = (table: Table, operations: Operations, more: object = {}, headers: Record<string, string> = {}) =>
  client().post(batchPath(table), { operations, ...more }, headers);
const counts = ({ headers }: Answer): string | null => headers.get('tablog-rows');
const add = (row: object) => ({ op: 'add', row });

test('a batch adds, patches and deletes in order, with one version', async () => {
  const table = await createTable(client(), rows, types);
  const [first, second, third] = table.rowIds;
  const answer = await send(table, [
    add({ a: 4 }),
    { op: 'patch', rowID: first, row: { a: 9 } },
    { op: 'patch', rowID: first, row: { b: null } },
    { op: 'patch', rowID: third, row: { a: 3 } },
    { op: 'delete', rowID: second },
    { op: 'delete', rowID: second },
    add({ a: 5, b: 'w' }),
  ]);
  expect([outcomeOf(answer), counts(answer)]).toEqual(['200', 'added=2, patched=2, unchanged=2, deleted=1']);
  const listed = await client().rows(table.id);
  expect(cellsOf(listed)).toEqual([{ a: 9 }, { a: 3, b: 'z' }, { a: 4 }, { a: 5, b: 'w' }]);
  const [fourth, fifth] = listed.slice(2).map(({ $rowID }) => $rowID);
  expect(answer.json.data.rowIDs).toEqual([fourth, first, first, third, second, second, fifth]);
  const head = await client().head(table.path);
  expect(answer.version).toBe(head.version);
  for (const rowId of [first, fourth, fifth])
    expect((await client().get(`${table.path}/${String(rowId)}`)).version).toBe(answer.version);
  expect((await client().get(`${table.path}/${third}`)).version).toBe(table.version);
});

test('a batch that changes nothing answers with the present version of the table', async () => {
  const table = await createTable(client(), rows, types);
  const answer = await send(table, [
    { op: 'patch', rowID: table.rowIds[0], row: { a: 1.0 } },
    { op: 'delete', rowID: unknownRowId },
    { op: 'delete', rowID: 'no ID' },
  ]);
  expect([outcomeOf(answer), counts(answer)]).toEqual(['200', 'added=0, patched=0, unchanged=3, deleted=0']);
  expect(answer.version).toBe(table.version);
  expect(answer.json.data.rowIDs.slice(0, 2)).toEqual([table.rowIds[0], unknownRowId]);
});

describe('onSchemaError', () => {
  test('updateSchema adds and widens columns for all operations', async () => {
    const table = await createTable(client(), rows, types);
    const answer = await send(
      table,
      [add({ a: 4 }), add({ a: 'x', c: true }), { op: 'patch', rowID: table.rowIds[0], row: { c: false } }],
      { onSchemaError: 'updateSchema' },
    );
    expect(counts(answer)).toBe('added=2, patched=1, unchanged=0, deleted=0');
    expect(cellsOf(await client().rows(table.id))).toEqual([
      { a: '1', b: 'x', c: false },
      { a: '2' },
      { a: '3', b: 'z' },
      { a: '4' },
      { a: 'x', c: true },
    ]);
  });

  test('dropColumns leaves cells out, and counts them', async () => {
    const table = await createTable(client(), rows, types);
    const answer = await send(
      table,
      [add({ a: 'x', c: 1, b: 'y' }), { op: 'patch', rowID: table.rowIds[0], row: { a: 'x' } }],
      {
        onSchemaError: 'dropColumns',
      },
    );
    expect([counts(answer), answer.headers.get('tablog-dropped-cells')]).toEqual([
      'added=1, patched=0, unchanged=1, deleted=0',
      '3',
    ]);
  });
});

test.each<[string, (table: Table) => unknown, string, message: string]>([
  [
    'a value that does not fit',
    ({ rowIds: [id] }) => [{ op: 'delete', rowID: id }, add({ a: 1 }), add({ b: 'x', a: 'y' })],
    '422 column_has_invalid_value',
    'operations[2].row.a: "y" does not fit the column\'s type number',
  ],
  [
    'an unknown column',
    ({ rowIds: [id] }) => [add({ a: 1 }), { op: 'patch', rowID: id, row: { c: 1 } }],
    '422 column_id_not_found',
    'operations[1].row.c: the table has no column "c"',
  ],
  [
    'a row that is not there',
    ({ rowIds: [id] }) => [
      { op: 'patch', rowID: id, row: { a: 7 } },
      { op: 'patch', rowID: unknownRowId, row: {} },
    ],
    '404 row_not_found',
    'operations[1]: there is no such row',
  ],
  [
    'a malformed row ID',
    () => [add({ a: 1 }), { op: 'patch', rowID: 'no ID', row: {} }],
    '404 row_not_found',
    'operations[1]: there is no such row',
  ],
  [
    'a row that the batch deleted before',
    ({ rowIds: [id] }) => [
      { op: 'delete', rowID: id },
      { op: 'patch', rowID: id, row: {} },
    ],
    '404 row_not_found',
    'operations[1]: there is no such row',
  ],
  [
    'a row that has changed',
    ({ rowIds: [id] }) => [add({ a: 1 }), { op: 'delete', rowID: id, ifMatch: '0' }],
    '412 precondition_failed',
    'operations[1]: the row has changed',
  ],
  ['no operations', () => [], malformed, 'operations: there must be at least one'],
  ['operations that are no array', () => ({}), malformed, 'operations: '],
  ['no operation', () => [7], malformed, 'operations[0]: an operation must be an object'],
  [
    'an unknown operation',
    () => [{ op: 'replace', row: {} }],
    malformed,
    'operations[0].op: must be "add", "upsert", "patch" or "delete"',
  ],
  ['an operation without a name', () => [{ row: {} }], malformed, 'operations[0].op: must be'],
  ['a row that is missing', () => [{ op: 'add' }], malformed, 'operations[0].row: '],
  ['a row that is no object', () => [add([1])], malformed, 'operations[0].row: '],
  ['a row to delete', ({ rowIds: [rowID] }) => [{ op: 'delete', rowID, row: {} }], malformed, 'operations[0]: '],
  ['a patch without a row ID', () => [{ op: 'patch', row: {} }], malformed, 'operations[0].rowID: '],
  [
    'the ID of another row in a patch',
    ({ rowIds: [rowID] }) => [{ op: 'patch', rowID, row: { $rowID: unknownRowId } }],
    malformed,
    'operations[0].row.$rowID: must be absent, or the ID of the patched row',
  ],
  [
    'a version that is none',
    ({ rowIds: [rowID] }) => [{ op: 'delete', rowID, ifMatch: '"4"' }],
    malformed,
    'operations[0].ifMatch: must be a version, like "42"',
  ],
  [
    'too many operations',
    () => Array.from({ length: 10_001 }, () => add({})),
    '400 limit_exceeded',
    'operations: there may be at most 10000',
  ],
  [
    'rows that are too long together',
    () => Array.from({ length: 6 }, () => add({ b: 'x'.repeat(200_000) })),
    '400 limit_exceeded',
    'operations: their rows must not be longer than 1048576 bytes',
  ],
])('a batch with %s is refused whole', async (_what, operations, outcome, message) => {
  const table = await createTable(client(), rows, types);
  const sent = operations(table);
  const answer = await leavingUnchanged(client(), table.path, () =>
    client().post(batchPath(table), { operations: sent }),
  );
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, expect.stringContaining(message)]);
  expect(answer.json.error.message.startsWith(message)).toBe(true);
});

test.each<[string, unknown, string]>([
  ['{"operations":[{"op":"add","row":{"a":1}}]', {}, malformed],
  ['[]', {}, malformed],
  ['', {}, malformed],
  ['{"operations":[{"op":"add","row":{}}],"more":1}', {}, malformed],
  ['{"operations":[{"op":"add","row":{}}],"onSchemaError":"no"}', {}, malformed],
  ['a,b\n1,2\n', { 'content-type': 'text/csv' }, malformed],
  [
    `{"operations":[{"op":"add","row":{"b":"${' '.repeat(10)}"}}]}${' '.repeat(5_000_000)}`,
    {},
    '413 payload_too_large',
  ],
])('body %# is refused, and nothing changes', async (body, headers, outcome) => {
  const table = await createTable(client(), rows, types);
  await leavingUnchanged(client(), table.path, async () => {
    expect(outcomeOf(await client().post(batchPath(table), body, headers as Record<string, string>))).toBe(outcome);
  });
});

describe('preconditions', () => {
  test('If-Match guards the whole table, and ifMatch one row', async () => {
    const table = await createTable(client(), rows, types);
    const [first, second] = table.rowIds;
    const patched = await client().patch(`${table.path}/${second}`, { a: 7 });
    const ofTable = await send(table, [add({ a: 4 })], {}, { 'if-match': `"${table.version}"` });
    expect(outcomeOf(ofTable)).toBe('412 precondition_failed');
    const guarded = [
      { op: 'patch', rowID: first, row: { a: 8 }, ifMatch: String(table.version) },
      { op: 'delete', rowID: second, ifMatch: String(patched.version) },
    ];
    const answer = await send(table, guarded, {}, { 'if-match': `"${patched.version}"` });
    expect(counts(answer)).toBe('added=0, patched=1, unchanged=0, deleted=1');
  });

  test('another team, and an unknown table, have no such table', async () => {
    const table = await createTable(client(), rows, types);
    const { client: other } = await api().createTeam();
    const body = { operations: [add({ a: 1 })] };
    expect(outcomeOf(await other.post(batchPath(table), body))).toBe('404 table_not_found');
    expect(outcomeOf(await client().post(`/tables/${unknownTableId}/batch`, body))).toBe('404 table_not_found');
  });

  test('a token for reading only, and a suspended team, may not change rows', async () => {
    const team = await api().createTeam();
    const table = await createTable(team.client, rows, types);
    const { client: reader } = await team.createToken({ readOnly: true });
    const body = { operations: [{ op: 'delete', rowID: table.rowIds[0] }] };
    expect((await reader.post(batchPath(table), body)).status).toBe(403);
    await team.suspend();
    expect(outcomeOf(await team.client.post(batchPath(table), body))).toBe('402 payment_required');
  });

  test('a plan counts the rows after each operation', async () => {
    const team = await api().createTeam();
    const table = await createTable(team.client, rows, types);
    await team.setPlan({ rowsMax: 3 });
    const ask = (operations: Operations) => team.client.post(batchPath(table), { operations });
    const remove = { op: 'delete', rowID: table.rowIds[0] };
    expect(outcomeOf(await ask([add({ a: 4 }), remove]))).toBe('402 payment_required');
    expect(outcomeOf(await ask([remove, add({ a: 4 })]))).toBe('200');
  });
});

test('a batch that is repeated under its Idempotency-Key takes effect once, and gets the first answer', async () => {
  const table = await createTable(client(), rows, types);
  const headers = { 'idempotency-key': `batch of ${table.id}` };
  const operations = [add({ a: 4 }), { op: 'delete', rowID: table.rowIds[0] }];
  const first = await send(table, operations, {}, headers);
  const again = await send(table, operations, {}, headers);
  expect([again.text, again.version, counts(again)]).toEqual([first.text, first.version, counts(first)]);
  expect(await client().rows(table.id)).toHaveLength(3);
  expect(outcomeOf(await send(table, operations.slice(1), {}, headers))).toBe('400 idempotency_key_reused');
});

test('a batch may become a job with the same result', async () => {
  const table = await createTable(client(), rows, types);
  const operations = [add({ a: 4 }), { op: 'patch', rowID: table.rowIds[1], row: { a: 5 } }];
  const accepted = await send(table, operations, {}, { 'x-service-asynchronous': 'true' });
  expect(accepted.status).toBe(202);
  const job = await untilDone(client(), accepted.json.data.jobID);
  expect(job.json.data).toMatchObject({
    status: 'succeeded',
    result: { rowIDs: [expect.any(String), table.rowIds[1]] },
  });
  expect(await client().rows(table.id)).toHaveLength(4);
});

test('10,000 operations take effect in one step', async () => {
  const table = await createTable(client(), [], types);
  const added = await send(
    table,
    Array.from({ length: 10_000 }, (_, a) => add({ a })),
  );
  expect(counts(added)).toBe('added=10000, patched=0, unchanged=0, deleted=0');
  const { rowIDs } = added.json.data as { readonly rowIDs: readonly string[] };
  expect(new Set(rowIDs).size).toBe(10_000);
  const patches = rowIDs.map((rowID, at) =>
    at % 2 === 0 ? { op: 'patch', rowID, row: { b: `${at}` } } : { op: 'delete', rowID },
  );
  const patched = await send(table, patches);
  expect([counts(patched), patched.json.data.rowIDs]).toEqual([
    'added=0, patched=5000, unchanged=0, deleted=5000',
    rowIDs,
  ]);
  const left = await client().rows(table.id);
  expect(left.map(({ a, b }) => [a, b])).toEqual(Array.from({ length: 5_000 }, (_, at) => [2 * at, String(2 * at)]));
});

test('a batch is refused if it patches a row that it makes long too often', async () => {
  const table = await createTable(client(), [{ b: 'x' }], types);
  const patch = (row: object): object => ({ op: 'patch', rowID: table.rowIds[0], row });
  const long = patch({ b: 'x'.repeat(200_000) });
  const operations = (times: number): object[] => [long, ...Array.from({ length: times }, (_, a) => patch({ a }))];
  const answer = await send(table, operations(1_000));
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '400 limit_exceeded',
    'the operations patch the same rows too often: send these patches in several batches',
  ]);
  expect(outcomeOf(await send(table, operations(100)))).toBe('200');
});

test('a batch is refused if it names too many rows of a table with long rows', async () => {
  const table = await createTable(client(), [{ b: 'x'.repeat(200_000) }], types);
  const operations = Array.from({ length: 1_000 }, () => ({ op: 'delete', rowID: unknownRowId }));
  const answer = await send(table, operations);
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '400 limit_exceeded',
    expect.stringMatching(/^the request patches or deletes 1000 rows; /),
  ]);
  expect(outcomeOf(await send(table, operations.slice(0, 100)))).toBe('200');
});

test('rows that kept IDs through an overwrite are patched and deleted by these IDs', async () => {
  const table = await createTable(client(), rows, types);
  const [first, second] = table.rowIds;
  await client().put(`/tables/${table.id}`, [{ $rowID: first, a: 1 }, { a: 2 }, { $rowID: second, a: 3 }]);
  const answer = await send(table, [
    { op: 'patch', rowID: first, row: { a: 8 } },
    { op: 'delete', rowID: second },
    add({ a: 4 }),
  ]);
  expect(answer.json.data.rowIDs.slice(0, 2)).toEqual([first, second]);
  expect(cellsOf(await client().rows(table.id))).toEqual([{ a: 8 }, { a: 2 }, { a: 4 }]);
});
