/** Spec 4.12, decisions 2 and 3: all rows of a table are replaced in one step. */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { cellsOf, createTable, leavingUnchanged, schemaOf, unknownRowId, unknownTableId } from '../support/tables.ts';

const { api, client } = useApi();
const malformed = '400 request_validation_error';
const numbered = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }));

function overwrite(id: string, body: unknown, headers: Record<string, string> = {}, query = ''): Promise<Answer> {
  return client().put(`/tables/${id}${query}`, body, headers);
}

test.each<[string, unknown, string]>([
  ['', [{ a: 1 }], '200'],
  ['', [], '200'],
  ['', { rows: [{ a: 1 }] }, '200'],
  ['', { rows: [{ b: 'x' }], schema: schemaOf({ b: 'string' }) }, '200'],
  ['', { schema: schemaOf({}), rows: [] }, '200'],
  ['?onSchemaError=dropColumns', [{ a: 'x', b: 1, $stashID: 1 }], '200'],
  ['?onSchemaError=updateSchema', [{ a: 'x', b: 1 }], '200'],
  ['', {}, malformed],
  ['', { schema: schemaOf({ a: 'number' }) }, malformed],
  ['', { rows: null }, malformed],
  ['', { rows: [], name: 'n' }, malformed],
  ['', { rows: [], schema: { columns: [{ id: 'a', type: 'number', more: 1 }] } }, malformed],
  ['', { $stashID: 'x', rows: [] }, malformed],
  ['', { $stashID: '_x' }, malformed],
  ['', { $stashID: 'never-was' }, '400 stash_not_found'],
  ['', { rows: { $stashID: 'never-was' } }, '400 stash_not_found'],
  ['', { rows: { $stashID: 'never-was' }, schema: schemaOf({ a: 'number' }) }, '400 stash_not_found'],
  ['', [1], malformed],
  ['', '', malformed],
  ['?name=n', [{ a: 1 }], malformed],
  ['', [{ a: 'x' }], '422 column_has_invalid_value'],
  ['', [{ b: 1 }], '422 column_id_not_found'],
  ['', [{ $stashID: null }], '422 column_id_reserved'],
  ['', { rows: [], schema: { columns: [{ id: '$rowID', type: 'string' }] } }, '422 column_id_reserved'],
  [
    '',
    {
      rows: [],
      schema: {
        columns: [
          { id: 'a', type: 'string' },
          { id: 'a', type: 'string' },
        ],
      },
    },
    '422 column_id_not_unique',
  ],
  ['', [{ a: 1, $rowID: unknownRowId }], malformed],
  ['', [{ a: 1, $rowID: 'x' }], malformed],
  ['', [{ a: 1, $rowID: 7 }], malformed],
])('PUT%s %# is %s', async (query, body, outcome) => {
  const table = await createTable(client(), [{ a: 0 }], { a: 'number' });
  const act = async (): Promise<Answer> => {
    const answer = await overwrite(table.id, body, {}, query);
    expect(outcomeOf(answer)).toBe(outcome);
    return answer;
  };
  if (outcome !== '200') await leavingUnchanged(client(), table.path, act);
  else {
    const answer = await act();
    expect(answer.version! > table.version).toBe(true);
    const page = await client().get(table.path);
    expect(page.version).toBe(answer.version);
    expect(page.json.data.map(({ $rowID }: { $rowID: string }) => $rowID)).toEqual(answer.json.data.rowIDs);
    expect(answer.json.data.rowIDs).not.toContain(table.rowIds[0]);
    expect(outcomeOf(await client().get(`${table.path}/${table.rowIds[0]}`))).toBe('404 row_not_found');
  }
});

test('an unknown table, and a table of another team, are not found', async () => {
  const { client: other } = await api().createTeam();
  const { id } = await createTable(other, [{ a: 1 }]);
  for (const tableId of [unknownTableId, id, 'x']) {
    expect(outcomeOf(await overwrite(tableId, [{ a: 1 }]))).toBe('404 table_not_found');
  }
});

test('the version in If-Match must be the present one of the table', async () => {
  const { id, path, version } = await createTable(client(), [{ a: 1 }]);
  await client().post(path, [{ a: 2 }]);
  await leavingUnchanged(client(), path, async () => {
    expect(outcomeOf(await overwrite(id, [], { 'if-match': `"${version}"` }))).toBe('412 precondition_failed');
    expect(outcomeOf(await overwrite(id, [], { 'if-match': 'x' }))).toBe(malformed);
  });
  const now = (await client().head(path)).version!;
  expect(outcomeOf(await overwrite(id, [], { 'if-match': `W/"${now}"` }))).toBe('200');
});

test('one of two simultaneous overwrites with the same If-Match is refused', async () => {
  const { id, path, version } = await createTable(client(), [{ a: 0 }]);
  const answers = await Promise.all([1, 2, 3, 4].map((a) => overwrite(id, [{ a }], { 'if-match': `"${version}"` })));
  expect(answers.map(outcomeOf).toSorted()).toEqual([
    '200',
    '412 precondition_failed',
    '412 precondition_failed',
    '412 precondition_failed',
  ]);
  expect(cellsOf(await client().rows(id))).toEqual([{ a: answers.findIndex(({ status }) => status === 200) + 1 }]);
  expect((await client().head(path)).version).toBe(answers.find(({ status }) => status === 200)!.version);
});

test('readers see either all old rows or all new ones', async () => {
  const { id, path } = await createTable(client(), numbered(300));
  let done = false;
  const writing = (async () => {
    for (let count = 301; count < 316; count += 1) await overwrite(id, numbered(count));
    done = true;
  })();
  let reads = 0;
  while (!done) {
    const { json } = await client().get(path);
    const { data } = json as { data: { n: number }[] };
    expect(data.map(({ n }) => n)).toEqual(numbered(data.length).map(({ n }) => n));
    expect(data.length).toBeGreaterThanOrEqual(300);
    reads += 1;
  }
  await writing;
  expect(reads).toBeGreaterThan(0);
});

test('a continuation stays with the rows and the schema with which it began', async () => {
  const { id, path } = await createTable(client(), [...numbered(150), { n: 'x' }]);
  const first = await client().get(`${path}?limit=100`);
  await overwrite(id, { schema: schemaOf({ m: 'boolean' }), rows: [{ m: true }] });
  await client().post(path, [{ m: false }]);
  const rest = await client().get(`${path}?limit=100&continuation=${first.json.continuation}`);
  expect(cellsOf([...first.json.data, ...rest.json.data])).toEqual([
    ...numbered(150).map(({ n }) => ({ n: String(n) })),
    { n: 'x' },
  ]);
  expect(rest.json).not.toHaveProperty('continuation');
  expect(cellsOf(await client().rows(id))).toEqual([{ m: true }, { m: false }]);
});

test('a continuation also survives an empty generation', async () => {
  const { id, path } = await createTable(client(), numbered(20));
  const first = await client().get(`${path}?limit=15`);
  await overwrite(id, []);
  expect((await client().get(path)).json).toEqual({ data: [] });
  const rest = await client().get(`${path}?continuation=${first.json.continuation}`);
  expect(rest.json.data.map(({ n }: { n: number }) => n)).toEqual([15, 16, 17, 18, 19]);
});

test('the plan counts the rows that the table has afterwards', async () => {
  const team = await api().createTeam();
  const { id, path } = await createTable(team.client, numbered(8));
  await team.setPlan({ rowsMax: 10 });
  expect(outcomeOf(await team.client.put(`/tables/${id}`, numbered(11)))).toBe('402 payment_required');
  expect(outcomeOf(await team.client.put(`/tables/${id}`, numbered(10)))).toBe('200');
  expect(outcomeOf(await team.client.post(path, [{ n: 1 }]))).toBe('402 payment_required');
  expect(outcomeOf(await team.client.put(`/tables/${id}`, []))).toBe('200');
  expect(outcomeOf(await team.client.post(path, numbered(10)))).toBe('201');
  await team.suspend();
  expect(outcomeOf(await team.client.put(`/tables/${id}`, []))).toBe('402 payment_required');
});

test('a request that is repeated with its key gets the first answer', async () => {
  const { id } = await createTable(client(), [{ a: 1 }]);
  const rows = await client().rows(id);
  const body = [{ a: 2, $rowID: rows[0]!['$rowID'] }, { a: 3 }];
  const first = await overwrite(id, body, { 'idempotency-key': 'once' });
  await overwrite(id, []);
  const again = await overwrite(id, body, { 'idempotency-key': 'once' });
  expect(again.text).toBe(first.text);
  expect(again.version).toBe(first.version);
  expect(await client().rows(id)).toEqual([]);
});

describe('a body of many blocks', () => {
  const pad = 'x'.repeat(300);
  const rowsOf = (count: number): string[] => numbered(count).map(({ n }) => JSON.stringify({ n, pad }));
  const named = (id: string): string => JSON.stringify({ $rowID: id, n: 1 });

  test.each<[name: string, last: (rowIds: readonly string[]) => string, outcome: string, message: string]>([
    [
      'a mismatch',
      () => '{"n":"x"}]',
      '422 column_has_invalid_value',
      'rows[4001].n: "x" does not fit the column\'s type number',
    ],
    ['something that is no row', () => '5]', malformed, 'rows[4001]: a row must be an object'],
    ['an ID that stands before it too', ([id]) => `${named(id!)}]`, malformed, 'occurs twice'],
    ['an ID of no row', () => `${named(unknownRowId)}]`, malformed, 'rows[4001].$rowID'],
    ['its end missing', () => '{"n":1}', malformed, 'stops before its JSON ends'],
    ['half a character', () => '{"pad":"\\udc00"}]', malformed, 'rows[4001].pad'],
  ])('with %s at its end changes nothing', async (_name, last, outcome, message) => {
    const { id, path, rowIds } = await createTable(client(), [{ n: 0, pad }]);
    await leavingUnchanged(client(), path, async () => {
      const answer = await overwrite(id, `[${[...rowsOf(4_000), named(rowIds[0]!), last(rowIds)].join()}`);
      expect(outcomeOf(answer)).toBe(outcome);
      expect(answer.json.error.message).toContain(message);
    });
  });

  test('changes nothing if its client does not finish it', async () => {
    const { id, path } = await createTable(client(), [{ n: 0, pad }]);
    await leavingUnchanged(client(), path, async () => {
      const { hostname, port } = new URL(client().url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      const body = `[${rowsOf(4_000).join()},`;
      socket.write(
        `PUT /tables/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client().token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length + 100}\r\n\r\n`,
      );
      await new Promise<void>((resolve) => socket.write(body, () => resolve()));
      socket.destroy();
      // Later requests are answered, and see nothing of the broken one.
      for (let look = 0; look < 5; look += 1) expect((await client().get(path)).json.data).toHaveLength(1);
    });
  });
});

describe('row IDs', () => {
  /** For 40,000 rows the body has several blocks. The rows come back in another order, each with another value. */
  test.each([3, 500, 40_000])('identify %d rows again', async (count) => {
    const pad = 'x'.repeat(20);
    const { id, path, rowIds } = await createTable(
      client(),
      numbered(count).map(({ n }) => ({ n, pad })),
    );
    const shuffled = rowIds.map((rowId, n) => ({ $rowID: rowId, n: -n, pad })).toReversed();
    const body = gzipSync(JSON.stringify([...shuffled, { n: 1, pad }]));
    const answer = await client().put(`/tables/${id}`, body, { 'content-encoding': 'gzip' });
    const { rowIDs } = answer.json.data as { rowIDs: string[] };
    expect(rowIDs.slice(0, -1)).toEqual(rowIds.toReversed());
    expect(rowIds).not.toContain(rowIDs.at(-1));
    const rows = await client().rows(id, 7000);
    expect(rows.map(({ $rowID }) => $rowID)).toEqual(rowIDs);
    expect(rows.slice(0, 3).map(({ n }) => n)).toEqual([1, 2, 3].map((back) => back - count));

    const one = `${path}/${rowIds[1]}`;
    expect((await client().get(one)).json.data).toEqual({ $rowID: rowIds[1], n: -1, pad });
    expect((await client().get(one)).version).toBe(answer.version);
    const patched = await client().patch(one, { n: 7 }, { 'if-match': `"${answer.version}"` });
    expect(patched.status).toBe(200);
    expect((await client().get(one)).json.data).toEqual({ $rowID: rowIds[1], n: 7, pad });
    await client().delete(`${path}/${rowIds[0]}`);
    expect(outcomeOf(await client().get(`${path}/${rowIds[0]}`))).toBe('404 row_not_found');
    expect(await client().rows(id, 9999)).toHaveLength(count);

    // A deleted row comes back under its ID.
    expect((await client().put(`/tables/${id}`, [{ $rowID: rowIds[0], n: 5, pad }])).json.data.rowIDs).toEqual([
      rowIds[0],
    ]);
    expect((await client().get(`${path}/${rowIds[0]}`)).json.data).toEqual({ $rowID: rowIds[0], n: 5, pad });
    expect(outcomeOf(await client().get(one))).toBe('404 row_not_found');
  });

  test('row IDs of another table are refused, with the row and the ID', async () => {
    const [one, other] = [await createTable(client(), numbered(3)), await createTable(client(), numbered(3))];
    await leavingUnchanged(client(), one.path, async () => {
      const rows = [
        { n: 1, $rowID: one.rowIds[0] },
        { n: 1, $rowID: other.rowIds[0] },
      ];
      const answer = await overwrite(one.id, rows);
      expect(outcomeOf(answer)).toBe(malformed);
      expect(answer.json.error.message).toBe(
        `rows[1].$rowID: "${other.rowIds[0]}" is the ID of no row that this table ever had`,
      );
    });
  });

  test('are refused if one occurs twice, and the message names the second row', async () => {
    const { id, path, rowIds } = await createTable(client(), numbered(3));
    await leavingUnchanged(client(), path, async () => {
      const answer = await overwrite(id, [
        { $rowID: rowIds[2] },
        { $rowID: rowIds[1] },
        { n: 1 },
        { $rowID: rowIds[2] },
      ]);
      expect(answer.json.error.message).toBe(`rows[3].$rowID: "${rowIds[2]}" occurs twice`);
    });
  });

  test('the ID of a place belongs to no row if the row there kept another ID', async () => {
    const { id, path, rowIds } = await createTable(client(), numbered(2));
    const fresh = (await overwrite(id, [{ n: 0 }, { n: 1 }])).json.data.rowIDs as string[];
    const kept = (await overwrite(id, [{ n: 0, $rowID: rowIds[0] }, { n: 1 }])).json.data.rowIDs as string[];
    // The ID of the first row's place differs from the second row's ID only in its last characters.
    const place = Buffer.from(kept[1]!, 'base64url');
    place.writeUInt32BE(0, 12);
    const hidden = place.toString('base64url');
    expect(outcomeOf(await client().get(`${path}/${hidden}`))).toBe('404 row_not_found');
    expect(outcomeOf(await client().patch(`${path}/${hidden}`, { n: 9 }))).toBe('404 row_not_found');
    expect(outcomeOf(await overwrite(id, [{ n: 0, $rowID: hidden }]))).toBe(malformed);
    expect((await overwrite(id, [{ n: 0, $rowID: fresh[1] }])).json.data.rowIDs).toEqual([fresh[1]]);
  });
});
