/** Decisions 1, 2 and 4: ETag, If-Match, If-None-Match. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import {
  arrayOf,
  createTable,
  leavingUnchanged,
  unknownRowId,
  unknownTableId,
  type MadeTable,
} from '../support/tables.ts';

const { client } = useApi();
const malformed = '400 request_validation_error';

async function tableVersion({ path }: MadeTable): Promise<bigint> {
  return (await client().head(path)).version!;
}

async function rowVersion({ path, rowIds }: MadeTable, index: number): Promise<bigint> {
  return (await client().get(`${path}/${rowIds[index]}`)).version!;
}

describe('one clock', () => {
  test('each write has the version of its table and of its rows, and it rises', async () => {
    const first = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    const second = await createTable(client(), [{ a: 1 }]);
    const patched = await client().patch(`${first.path}/${first.rowIds[0]}`, { a: 5 });
    const added = await client().post(second.path, [{ a: 2 }]);
    const deleted = await client().delete(`${first.path}/${first.rowIds[1]}`);
    const versions = [first.version, second.version, patched.version!, added.version!, deleted.version!];
    expect(versions).toEqual(versions.toSorted((a, b) => Number(a - b)));
    expect(new Set(versions).size).toBe(versions.length);
    expect(await tableVersion(first)).toBe(deleted.version);
    expect(await tableVersion(second)).toBe(added.version);
    expect(await rowVersion(first, 0)).toBe(patched.version);
    expect(await rowVersion(second, 0)).toBe(second.version);
    expect((await client().get(`${second.path}/${added.json.data.rowIDs[0]}`)).version).toBe(added.version);
  });

  test('a write to one row or table changes no version of others', async () => {
    const first = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    const second = await createTable(client(), [{ a: 1 }]);
    await client().patch(`${first.path}/${first.rowIds[0]}`, { a: 5 });
    await client().post(first.path, [{ a: 1 }]);
    expect(await rowVersion(first, 1)).toBe(first.version);
    expect(await tableVersion(second)).toBe(second.version);
  });

  test('a page has the version of its table', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    const { version } = await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 5 });
    const page = await client().get(`${table.path}?limit=1`);
    expect(page.version).toBe(version);
    expect((await client().get(`${table.path}?continuation=${page.json.continuation}`)).version).toBe(version);
  });
});

describe('If-Match', () => {
  const accepted: ((version: bigint) => string)[] = [
    (version) => `"${version}"`,
    (version) => `W/"${version}"`,
    (version) => `"000${version}"`,
    (version) => `"${version + 1n}"`,
    () => '"9007199254740993"',
    () => '"9223372036854775807"',
    () => '"9223372036854775808"',
    () => '"99999999999999999999"',
    () => 'W/"99999999999999999999"',
    () => `"${'9'.repeat(200)}"`,
  ];
  const stale: ((version: bigint) => string)[] = [
    (version) => `"${version - 1n}"`,
    (version) => `W/"${version - 1n}"`,
    () => '"0"',
    () => '"1"',
    () => '"00000000000000000000"',
  ];
  const refused = [
    '1',
    'W/1',
    '*',
    '""',
    'W/""',
    '"-1"',
    '"1',
    '1"',
    '"1", "2"',
    '"1","1"',
    'w/"1"',
    '"1.0"',
    '"1e3"',
    '"0x1"',
    '"a"',
    '" 1"',
    '"1 "',
    'W/ "1"',
    "'1'",
    '"٣"',
  ];
  const requests: [string, (table: MadeTable, tag: string) => Promise<Answer>][] = [
    ['PATCH row', ({ path, rowIds }, tag) => client().patch(`${path}/${rowIds[0]}`, { a: 2 }, { 'if-match': tag })],
    ['DELETE row', ({ path, rowIds }, tag) => client().delete(`${path}/${rowIds[0]}`, { 'if-match': tag })],
    ['PATCH table', ({ id }, tag) => client().patch(`/tables/${id}`, { name: 'other' }, { 'if-match': tag })],
    ['DELETE table', ({ id }, tag) => client().delete(`/tables/${id}`, { 'if-match': tag })],
    ['POST rows', ({ path }, tag) => client().post(path, [{ a: 2 }], { 'if-match': tag })],
  ];
  const cases = requests.flatMap(([name, send]) => [
    ...accepted.map((tag) => [name, send, tag, name === 'POST rows' ? '201' : '200'] as const),
    ...stale.map((tag) => [name, send, tag, '412 precondition_failed'] as const),
    ...refused.filter((tag) => /^[\x20-\x7e]*$/.test(tag)).map((tag) => [name, send, () => tag, malformed] as const),
  ]);

  test.each(cases.map(([name, send, tag, outcome]) => [name, tag(1000n), outcome, send, tag] as const))(
    '%s with %s (of 1000) is %s',
    async (_name, _tag, outcome, send, tag) => {
      const table = await createTable(client(), [{ a: 1 }]);
      const act = async (): Promise<void> => {
        expect(outcomeOf(await send(table, tag(table.version)))).toBe(outcome);
      };
      if (outcome.startsWith('4')) await leavingUnchanged(client(), table.path, act);
      else await act();
    },
  );

  test('the version of a table is a valid If-Match for its rows: not updated since then', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }, { a: 3 }]);
    const [first, second, third] = table.rowIds.map((id) => `${table.path}/${id}`) as [string, string, string];
    await client().patch(first, { a: 10 });
    const seen = { 'if-match': `"${await tableVersion(table)}"` };
    await client().patch(second, { a: 20 });
    expect(outcomeOf(await client().patch(first, { a: 11 }, seen))).toBe('200');
    expect(outcomeOf(await client().patch(second, { a: 21 }, seen))).toBe('412 precondition_failed');
    expect(outcomeOf(await client().delete(second, seen))).toBe('412 precondition_failed');
    expect(outcomeOf(await client().delete(third, seen))).toBe('200');
  });

  test('If-Match of a row is compared with its own version, not with its ETag after a widening', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    const widened = await client().patch(`${table.path}/${table.rowIds[0]}?onSchemaError=updateSchema`, { a: 'x' });
    expect(await rowVersion(table, 1)).toBe(widened.version);
    const answer = await client().patch(
      `${table.path}/${table.rowIds[1]}`,
      { a: 3 },
      { 'if-match': `"${table.version}"` },
    );
    expect(outcomeOf(answer)).toBe('200');
  });

  test('is checked even if the write would change nothing', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const path = `${table.path}/${table.rowIds[0]}`;
    const headers = { 'if-match': `"${table.version - 1n}"` };
    expect(outcomeOf(await client().patch(path, { a: 1 }, headers))).toBe('412 precondition_failed');
    expect(outcomeOf(await client().post(table.path, [], headers))).toBe('412 precondition_failed');
  });
});

describe('If-None-Match', () => {
  const paths: [string, 'GET' | 'HEAD', (table: MadeTable) => string][] = [
    ['HEAD rows', 'HEAD', ({ path }) => path],
    ['GET rows', 'GET', ({ path }) => path],
    ['GET row', 'GET', ({ path, rowIds }) => `${path}/${rowIds[0]}`],
    ['GET table', 'GET', ({ id }) => `/tables/${id}`],
    ['HEAD table', 'HEAD', ({ id }) => `/tables/${id}`],
  ];
  const tags: [(version: bigint) => string, number][] = [
    [(version) => `"${version}"`, 304],
    [(version) => `W/"${version}"`, 304],
    [() => '*', 304],
    [(version) => `"a", "${version}"`, 304],
    [(version) => `"1",W/"${version}" , "2"`, 304],
    [(version) => `"${version - 1n}"`, 200],
    [(version) => `"${version + 1n}"`, 200],
    [(version) => `"${version}0"`, 200],
    [() => '""', 200],
    [() => '"x"', 200],
  ];

  test.each(
    paths.flatMap(([name, method, path]) =>
      tags.map(([tag, status]) => [name, tag(1000n), status, method, path, tag] as const),
    ),
  )('%s with %s (of 1000) is %i', async (_name, _tag, status, method, path, tag) => {
    const table = await createTable(client(), [{ a: 1 }]);
    const answer = await client().send(path(table), { method, headers: { 'if-none-match': tag(table.version) } });
    expect([answer.status, answer.version]).toEqual([status, table.version]);
  });

  test.each(
    paths.flatMap(([name, method, path]) =>
      ['1', '"1', '* , "1"', '"1" "2"'].map((tags) => [name, tags, method, path] as const),
    ),
  )('%s with %s is refused, whatever the request is for', async (_name, tags, method, path) => {
    const there = await createTable(client(), [{ a: 1 }]);
    const noRow = { ...there, rowIds: [unknownRowId] };
    for (const table of [there, noRow, { ...noRow, id: unknownTableId, path: `/tables/${unknownTableId}/rows` }]) {
      const answer = await client().send(path(table), { method, headers: { 'if-none-match': tags } });
      expect([path(table), answer.status]).toEqual([path(table), 400]);
      if (method === 'GET') expect(outcomeOf(answer)).toBe(malformed);
    }
  });

  test.each(paths)('%s is 200 with the new version after a change', async (_name, method, path) => {
    const table = await createTable(client(), [{ a: 1 }]);
    const { version } = await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 2 });
    const answer = await client().send(path(table), { method, headers: { 'if-none-match': `"${table.version}"` } });
    expect([answer.status, answer.version]).toEqual([200, version]);
  });
});

describe('a widening', () => {
  const widenings: [string, (table: MadeTable) => Promise<Answer>][] = [
    ['by a patch', ({ path, rowIds }) => client().patch(`${path}/${rowIds[1]}?onSchemaError=updateSchema`, { a: 'x' })],
    ['by rows', ({ path }) => client().post(`${path}?onSchemaError=updateSchema`, [{ a: 'x' }])],
    [
      'by many rows',
      ({ path }) =>
        client().post(
          `${path}?onSchemaError=updateSchema`,
          Array.from({ length: 500 }, () => ({ a: 'x' })),
        ),
    ],
    ['to an array', ({ path }) => client().post(`${path}?onSchemaError=updateSchema`, [{ a: [1] }])],
  ];

  test.each(widenings)('%s changes the version of the table and the ETag of every row', async (_, widen) => {
    const table = await createTable(client(), [{ a: 1, b: 1 }, { a: 2 }, { b: 3 }]);
    const before = await client().get(`${table.path}/${table.rowIds[0]}`);
    const { version } = await widen(table);
    expect(version! > table.version).toBe(true);
    expect(await tableVersion(table)).toBe(version);
    for (const index of table.rowIds.keys()) expect(await rowVersion(table, index)).toBe(version);
    const cached = { 'if-none-match': `"${before.version}"` };
    const after = await client().get(`${table.path}/${table.rowIds[0]}`, cached);
    expect(after.status).toBe(200);
    expect(after.json).not.toEqual(before.json);
  });

  test('a row that is patched after a widening has its own version as ETag', async () => {
    const table = await createTable(client(), [{ a: 1, b: 1 }, { a: 2 }]);
    const widened = await client().post(`${table.path}?onSchemaError=updateSchema`, [{ a: 'x' }]);
    const patched = await client().patch(`${table.path}/${table.rowIds[0]}`, { b: 2 });
    expect([await rowVersion(table, 0), await rowVersion(table, 1)]).toEqual([patched.version, widened.version]);
  });

  test('a patch to the same values after a widening changes nothing, and answers with the ETag of the row', async () => {
    const table = await createTable(client(), [{ a: 1 }, { a: 2 }]);
    const widened = await client().post(`${table.path}?onSchemaError=updateSchema`, [{ a: 'x' }]);
    const answer = await client().patch(`${table.path}/${table.rowIds[0]}`, { a: '1' });
    expect(answer.version).toBe(widened.version);
    expect(await tableVersion(table)).toBe(widened.version);
    expect((await client().patch(`${table.path}/${table.rowIds[0]}`, { a: 1 })).version).toBe(widened.version);
  });

  test('a new column is no widening: other rows keep their ETags', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await client().post(`${table.path}?onSchemaError=updateSchema`, [{ b: 1 }]);
    expect(await rowVersion(table, 0)).toBe(table.version);
  });

  test('a scalar that is wrapped for an array column is no widening', async () => {
    const table = await createTable(client(), [{ a: [1] }], { a: arrayOf('number') });
    await client().post(`${table.path}?onSchemaError=updateSchema`, [{ a: 2 }]);
    expect(await rowVersion(table, 0)).toBe(table.version);
  });
});
