/** Changes of all rows that meet a filter: docs/spec/batches.md. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { cellsOf, createTable, leavingUnchanged, unknownTableId } from '../support/tables.ts';

const { api, client } = useApi();
const types = { n: 'number', s: 'string' };
const rows = [{ n: 1, s: 'x' }, { n: 2, s: 'y' }, { n: 3, s: 'x' }, { n: 4 }];
type Table = Awaited<ReturnType<typeof createTable>>;

const isX = { column: 's', op: 'eq', value: 'x' };
const all = { and: [] };
const pathOf = ({ path }: Table, filter: unknown, more = ''): string =>
  `${path}?filter=${encodeURIComponent(JSON.stringify(filter))}${more}`;
const counts = ({ headers }: Answer): string | null => headers.get('tablog-rows');

test('a patch by filter changes the rows that meet it, with one version', async () => {
  const table = await createTable(client(), rows, types);
  const answer = await client().patch(pathOf(table, isX), { n: 1, s: null });
  expect([outcomeOf(answer), counts(answer)]).toEqual(['200', 'added=0, patched=2, unchanged=0, deleted=0']);
  expect(answer.json.data.rowIDs).toEqual([table.rowIds[0], table.rowIds[2]]);
  expect(cellsOf(await client().rows(table.id))).toEqual([{ n: 1 }, { n: 2, s: 'y' }, { n: 1 }, { n: 4 }]);
  expect(answer.version).toBe((await client().head(table.path)).version);
});

test('a deletion by filter deletes the rows that meet it', async () => {
  const table = await createTable(client(), rows, types);
  const answer = await client().delete(pathOf(table, { column: 'n', op: 'gte', value: 3 }));
  expect([outcomeOf(answer), counts(answer)]).toEqual(['200', 'added=0, patched=0, unchanged=0, deleted=2']);
  expect(answer.json.data.rowIDs).toEqual(table.rowIds.slice(2));
  expect(cellsOf(await client().rows(table.id))).toEqual(rows.slice(0, 2));
});

test('if no row meets the filter, nothing changes, and the answer has the version of the table', async () => {
  const table = await createTable(client(), rows, types);
  const none = { column: 'n', op: 'gt', value: 9 };
  await leavingUnchanged(client(), table.path, async () => {
    for (const answer of [
      await client().patch(pathOf(table, none), { n: 1 }),
      await client().delete(pathOf(table, none)),
    ]) {
      expect([answer.json, counts(answer)]).toEqual([
        { data: { rowIDs: [] } },
        'added=0, patched=0, unchanged=0, deleted=0',
      ]);
      expect(answer.version).toBe(table.version);
    }
  });
});

test('dryRun answers with the rows, and changes nothing', async () => {
  const table = await createTable(client(), rows, types);
  await leavingUnchanged(client(), table.path, async () => {
    const dry = [
      await client().patch(pathOf(table, isX, '&dryRun=true'), { n: 1 }),
      await client().delete(pathOf(table, isX, '&dryRun=true')),
    ];
    for (const answer of dry) {
      expect([answer.json.data.rowIDs, answer.version, counts(answer)]).toEqual([
        [table.rowIds[0], table.rowIds[2]],
        table.version,
        null,
      ]);
    }
    expect(outcomeOf(await client().patch(pathOf(table, isX, '&dryRun=true'), { n: 'x' }))).toBe(
      '422 column_has_invalid_value',
    );
  });
});

test('onSchemaError counts for patches', async () => {
  const table = await createTable(client(), rows, types);
  const dropped = await client().patch(pathOf(table, isX, '&onSchemaError=dropColumns'), { n: 'x', s: 'z' });
  expect([counts(dropped), dropped.headers.get('tablog-dropped-cells')]).toEqual([
    'added=0, patched=2, unchanged=0, deleted=0',
    '2',
  ]);
  const widened = await client().patch(pathOf(table, all, '&onSchemaError=updateSchema'), { n: 'x' });
  expect(counts(widened)).toBe('added=0, patched=4, unchanged=0, deleted=0');
  expect((await client().rows(table.id)).map(({ n }) => n)).toEqual(['x', 'x', 'x', 'x']);
});

test.each<[string, string, (table: Table) => string, unknown, outcome: string, message: string]>([
  ['PATCH without a filter', 'PATCH', ({ path }) => path, { n: 1 }, '400 request_validation_error', 'query.filter: '],
  [
    'DELETE without a filter',
    'DELETE',
    ({ path }) => path,
    undefined,
    '400 request_validation_error',
    'query.filter: ',
  ],
  [
    'an empty filter',
    'DELETE',
    ({ path }) => `${path}?filter=`,
    undefined,
    '400 request_validation_error',
    'query.filter: ',
  ],
  [
    'a malformed filter',
    'DELETE',
    (table) => pathOf(table, 7),
    undefined,
    '400 request_validation_error',
    'query.filter',
  ],
  [
    'another query parameter',
    'DELETE',
    (table) => pathOf(table, isX, '&limit=1'),
    undefined,
    '400 request_validation_error',
    'query.limit: ',
  ],
  [
    'a malformed dryRun',
    'DELETE',
    (table) => pathOf(table, isX, '&dryRun=1'),
    undefined,
    '400 request_validation_error',
    'query.dryRun: ',
  ],
  [
    'an unknown column in the filter',
    'DELETE',
    (table) => pathOf(table, { column: 'z', op: 'isEmpty' }),
    undefined,
    '422 column_id_not_found',
    '',
  ],
  [
    'an unknown column in the patch',
    'PATCH',
    (table) => pathOf(table, isX),
    { z: 1 },
    '422 column_id_not_found',
    'z: ',
  ],
  [
    'a value that does not fit',
    'PATCH',
    (table) => pathOf(table, isX),
    { n: 'x' },
    '422 column_has_invalid_value',
    'n: ',
  ],
  [
    'a row ID in the patch',
    'PATCH',
    (table) => pathOf(table, isX),
    { $rowID: 'x' },
    '400 request_validation_error',
    '$rowID: ',
  ],
  [
    'a patch that is an array',
    'PATCH',
    (table) => pathOf(table, isX),
    [],
    '400 request_validation_error',
    'a row must be an object',
  ],
  [
    'an unknown table',
    'DELETE',
    () => pathOf({ path: `/tables/${unknownTableId}/rows` } as Table, isX),
    undefined,
    '404 table_not_found',
    '',
  ],
])('%s is refused, and nothing changes', async (_what, method, path, body, outcome, message) => {
  const table = await createTable(client(), rows, types);
  await leavingUnchanged(client(), table.path, async () => {
    const answer = await client().send(path(table), { method, body });
    expect([outcomeOf(answer), answer.json.error.message.slice(0, message.length)]).toEqual([outcome, message]);
  });
});

test('if more rows meet the filter than a batch may have, the request is refused and none changes', async () => {
  const table = await createTable(
    client(),
    Array.from({ length: 10_001 }, (_, n) => ({ n })),
    types,
  );
  const answer = await leavingUnchanged(client(), table.path, () => client().delete(pathOf(table, all)));
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '400 limit_exceeded',
    'more than 10000 rows meet the filter',
  ]);
  const most = { column: 'n', op: 'lt', value: 10_000 };
  expect(counts(await client().patch(pathOf(table, most), { s: 'x' }))).toBe(
    'added=0, patched=10000, unchanged=0, deleted=0',
  );
});

describe('an Idempotency-Key', () => {
  test('returns the first answer, even if the rows have changed', async () => {
    const table = await createTable(client(), rows, types);
    const headers = { 'idempotency-key': `by filter ${table.id}` };
    const first = await client().delete(pathOf(table, isX), headers);
    await client().post(table.path, [{ n: 9, s: 'x' }]);
    const again = await client().delete(pathOf(table, isX), headers);
    expect([again.text, again.version, counts(again)]).toEqual([first.text, first.version, counts(first)]);
    expect(await client().rows(table.id)).toHaveLength(3);
    await client().delete(`/tables/${table.id}`);
    expect((await client().delete(pathOf(table, isX), headers)).text).toBe(first.text);
  });

  test('returns the first refusal', async () => {
    const table = await createTable(client(), rows, types);
    const headers = { 'idempotency-key': `refused ${table.id}` };
    const first = await client().patch(pathOf(table, isX), { n: 'x' }, headers);
    await client().post(`${table.path}?onSchemaError=updateSchema`, [{ n: 'x' }]);
    const again = await client().patch(pathOf(table, isX), { n: 'x' }, headers);
    expect([outcomeOf(again), again.text]).toEqual(['422 column_has_invalid_value', first.text]);
  });

  test('returns the first answer, even if the filter no longer fits the columns', async () => {
    const table = await createTable(client(), rows, types);
    const headers = { 'idempotency-key': `columns ${table.id}` };
    const ask = (): Promise<Answer> =>
      client().delete(pathOf(table, { column: 's', op: 'contains', value: 'x' }), headers);
    const first = await ask();
    expect(outcomeOf(first)).toBe('200');
    await client().patch(`/tables/${table.id}?onMisfit=clear`, { columns: [{ id: 's', type: 'number' }] });
    const without = await client().delete(pathOf(table, { column: 's', op: 'contains', value: 'x' }));
    expect(outcomeOf(without)).toBe('400 request_validation_error');
    const again = await ask();
    expect([again.text, again.version, counts(again)]).toEqual([first.text, first.version, counts(first)]);
  });

  test('returns the first refusal, which names the row', async () => {
    const table = await createTable(client(), rows, types);
    await client().patch(`/tables/${table.id}`, { key: ['n'] });
    const headers = { 'idempotency-key': `key ${table.id}` };
    const first = await client().patch(pathOf(table, isX), { n: 7 }, headers);
    const [one, , third] = table.rowIds;
    const message = `row ${third}: row ${one} has the same key, "n" = 7`;
    expect([outcomeOf(first), first.json.error.message]).toEqual(['409 key_not_unique', message]);
    await client().delete(`${table.path}/${one}`);
    await client().post(table.path, [
      { n: 8, s: 'x' },
      { n: 9, s: 'x' },
    ]);
    expect((await client().patch(pathOf(table, isX), { n: 7 }, headers)).text).toBe(first.text);
  });
});

test('a token for reading only may not change rows by a filter', async () => {
  const team = await api().createTeam();
  const table = await createTable(team.client, rows, types);
  const { client: reader } = await team.createToken({ readOnly: true });
  expect((await reader.delete(pathOf(table, isX))).status).toBe(403);
  expect((await reader.patch(pathOf(table, isX, '&dryRun=true'), { n: 1 })).status).toBe(403);
});

test('while rows are changed by a filter, no change of another client is lost', async () => {
  const table = await createTable(
    client(),
    Array.from({ length: 20 }, () => ({ n: 0 })),
    types,
  );
  const byFilter = async (asking: Client, value: number): Promise<string> =>
    outcomeOf(await asking.patch(pathOf(table, { column: 'n', op: 'eq', value }), { n: value + 1 }));
  const singly = async (at: number): Promise<void> => {
    await client().patch(`${table.path}/${table.rowIds[at]}`, { s: `single ${at}` });
  };
  const outcomes: string[] = [];
  for (let round = 0; round < 5; round += 1) {
    const [outcome] = await Promise.all([byFilter(client(), round), ...table.rowIds.map((_, at) => singly(at))]);
    outcomes.push(outcome);
    if (outcome !== '200') expect(await byFilter(client(), round)).toBe('200');
  }
  expect(outcomes.every((outcome) => outcome === '200' || outcome === '412 precondition_failed')).toBe(true);
  expect(cellsOf(await client().rows(table.id))).toEqual(table.rowIds.map((_, at) => ({ n: 5, s: `single ${at}` })));
});

test('a deletion by filter after a change of columns uses the new columns', async () => {
  for (let round = 0; round < 6; round += 1) {
    const table = await createTable(client(), rows, types);
    const [deleted, changed] = await Promise.all([
      client().delete(pathOf(table, isX)),
      client().patch(`/tables/${table.id}`, { remove: ['s'], add: [{ id: 's', type: 'string' }] }),
    ]);
    expect([outcomeOf(deleted), outcomeOf(changed)]).toEqual(['200', '200']);
    const isBefore = deleted.version! < changed.version!;
    expect(deleted.json.data.rowIDs).toEqual(isBefore ? [table.rowIds[0], table.rowIds[2]] : []);
  }
});
