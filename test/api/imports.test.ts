/** Spec 4.13, decisions 2, 3 and 6: the rows of a stash become rows of a table, in one step. */
import { describe, expect, test } from '@jest/globals';
import { promptly, useApi } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { expectStored, newStashId, putChunks, stashOf } from '../support/stashes.ts';
import { cellsOf, createTable, leavingUnchanged, schemaOf, unknownTableId, type MadeTable } from '../support/tables.ts';

const { client } = useApi(promptly);
const permitted = { 'x-service-asynchronous': 'true' };
const noStash = '400 stash_not_found';
const malformed = '400 request_validation_error';

const idsOf = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ $rowID }) => $rowID);
const numbered = (from: number, count: number): { n: number }[] =>
  Array.from({ length: count }, (_, at) => ({ n: from + at }));

type Import = (
  table: MadeTable,
  stashId: string,
  headers?: Record<string, string>,
  query?: string,
  by?: Client,
) => Promise<Answer>;

const create: Import = (_table, $stashID, headers, query = '', by = client()) =>
  by.post(`/tables${query}`, { name: 'n', rows: { $stashID } }, headers);
const add: Import = ({ path }, $stashID, headers, query = '', by = client()) =>
  by.post(`${path}${query}`, { $stashID }, headers);
const overwrite: Import = ({ id }, $stashID, headers, query = '', by = client()) =>
  by.put(`/tables/${id}${query}`, { $stashID }, headers);

/** Each way to import a stash, and the rows that a table with the rows `before` has afterwards. */
const imports: readonly (readonly [string, Import, retainsBefore: boolean])[] = [
  ['create', create, false],
  [
    'create under a schema',
    (_table, $stashID, headers, query = '', by = client()) =>
      by.post(`/tables${query}`, { name: 'n', rows: { $stashID }, schema: schemaOf({ n: 'number' }) }, headers),
    false,
  ],
  ['add', add, true],
  ['overwrite', overwrite, false],
  [
    'overwrite as rows',
    ({ id }, $stashID, headers, query = '', by = client()) =>
      by.put(`/tables/${id}${query}`, { rows: { $stashID } }, headers),
    false,
  ],
  [
    'overwrite under a schema',
    ({ id }, $stashID, headers, query = '', by = client()) =>
      by.put(`/tables/${id}${query}`, { rows: { $stashID }, schema: schemaOf({ n: 'number' }) }, headers),
    false,
  ],
];

describe.each(imports)('%s', (name, write, retainsBefore) => {
  const before = { n: -1 };
  const chunks = { 10: numbered(3, 250), 9: 'n\n2\n', 1: [{ n: 0 }, { $rowID: null, n: 1 }], 11: [] };

  test('adds the rows in the order of their chunks, and answers with their IDs', async () => {
    const table = await createTable(client(), [before], { n: 'number' });
    const stashId = await stashOf(client(), chunks);
    for (const headers of [{}, permitted]) {
      const answer = await write(table, stashId, headers);
      expect(answer.status).toBe(
        'x-service-asynchronous' in headers ? 202 : name.startsWith('create') || name.startsWith('add') ? 201 : 200,
      );
      const { jobID, tableID = table.id } = answer.json.data;
      const job = jobID === undefined ? null : await untilDone(client(), jobID);
      const { rowIDs } = job === null ? answer.json.data : job.json.data.result;
      if (job !== null) {
        expect(Object.keys(job.json.data.result)).toEqual(
          name.startsWith('create') ? ['tableID', 'rowIDs'] : ['rowIDs'],
        );
        expect((await client().get(`/jobs/${jobID}/progress`)).json.data).toMatchObject({
          phase: 'done',
          rowsDone: 253,
        });
      }
      const rows = (await client().rows(tableID)).slice(-253);
      expect(cellsOf(rows)).toEqual(numbered(0, 253));
      expect(idsOf(rows)).toEqual(rowIDs);
      for (const [at, id] of [
        [0, rowIDs[0]],
        [1, rowIDs[1]],
        [2, rowIDs[2]],
        [252, rowIDs[252]],
      ]) {
        expect((await client().get(`/tables/${tableID}/rows/${id}`)).json.data).toEqual({ $rowID: id, n: at });
      }
      const page = await client().get(`/tables/${tableID}/rows`);
      if (job === null) expect(page.version).toBe(answer.version);
    }
    expect(await client().rows(table.id)).toHaveLength(retainsBefore ? 507 : name.startsWith('create') ? 1 : 253);
  });

  test('has one effect under one key', async () => {
    const table = await createTable(client(), [before], { n: 'number' });
    const stashId = await stashOf(client(), { 1: numbered(0, 2) });
    const key = { 'idempotency-key': `import-${table.id}` };
    const first = await write(table, stashId, key);
    await putChunks(client(), stashId, [['1', numbered(5, 9)]]);
    const again = await write(table, stashId, key);
    expect([again.status, again.text, again.version]).toEqual([first.status, first.text, first.version]);
    expectStored(await client().delete(`/stashes/${stashId}`));
    expect((await write(table, stashId, key)).text).toBe(first.text);
    const { tableID = table.id } = first.json.data;
    expect(cellsOf(await client().rows(tableID)).slice(-2)).toEqual(numbered(0, 2));
  });

  test.each<[string, Record<string, unknown>, string, string, string]>([
    [
      'in the last row of the last chunk',
      { 2: numbered(0, 9), 10: [...numbered(9, 300), { n: 'x' }] },
      '',
      '422 column_has_invalid_value',
      'chunk 10, rows[300].n: "x" does not fit',
    ],
    [
      'of CSV',
      { 2: 'n\n1\n', 10: 'n\n1\nx\n' },
      '',
      '422 column_has_invalid_value',
      'chunk 10, rows[1].n: "x" does not fit',
    ],
    [
      'in a column that is not there',
      { 1: numbered(0, 1), 2: [{ n: 1 }, { 'n': 2, 'o p': 1 }] },
      '',
      '422 column_id_not_found',
      'chunk 2, rows[1].o p: the table has no column "o p"',
    ],
    [
      'in a header',
      { 1: numbered(0, 1), 2: 'n,o\n' },
      '',
      '422 column_id_not_found',
      'chunk 2, rows[0].o: the table has no column "o"',
    ],
    [
      'in a reserved column',
      { a: numbered(0, 1), b: [{ $stashID: 1 }] },
      '',
      '422 column_id_reserved',
      'chunk b, rows[0].$stashID: the column ID "$stashID" is reserved',
    ],
    [
      'in a reserved column, under updateSchema',
      { a: [{ n: 1, $stashID: 2 }] },
      '?onSchemaError=updateSchema',
      '422 column_id_reserved',
      'chunk a, rows[0].$stashID: the column ID "$stashID" is reserved',
    ],
  ])('does nothing where something is wrong %s', async (what, given, query, outcome, message) => {
    // A schema that is inferred takes all of them but the last.
    if (name === 'create' && !what.includes('reserved'))
      return expect(outcomeOf(await write(await createTable(client(), []), await stashOf(client(), given)))).toBe(
        '201',
      );
    const table = await createTable(client(), [before], { n: 'number' });
    const stashId = await stashOf(client(), given);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await write(table, stashId, {}, query);
      expect([outcomeOf(answer), answer.json.error.message.slice(0, message.length)]).toEqual([outcome, message]);
      const { json } = await write(table, stashId, permitted, query);
      const { status, error } = (await untilDone(client(), json.data.jobID)).json.data;
      expect([status, error.message]).toEqual(['failed', answer.json.error.message]);
    });
  });

  test('drops or widens values that do not fit, as the request says', async () => {
    const chunks = { 1: [{ n: 1, o: true }], 2: 'n\nx\n', 3: [{ n: true }] };
    for (const [query, rows] of [
      ['?onSchemaError=dropColumns', [{ n: 1 }, {}, {}]],
      ['?onSchemaError=updateSchema', [{ n: '1', o: true }, { n: 'x' }, { n: 'true' }]],
    ] as const) {
      if (name === 'create' && query.endsWith('dropColumns')) continue;
      const table = await createTable(client(), [before], { n: 'number' });
      const answer = await write(table, await stashOf(client(), chunks), {}, query);
      expect(outcomeOf(answer)).toMatch(/^20[01]$/);
      expect(cellsOf(await client().rows(answer.json.data.tableID ?? table.id)).slice(-3)).toEqual(rows);
    }
  });

  test('refuses an unknown stash', async () => {
    const table = await createTable(client(), [before], { n: 'number' });
    const deleted = await stashOf(client(), { 1: numbered(0, 2) });
    expectStored(await client().delete(`/stashes/${deleted}`));
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await write(table, deleted);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([noStash, `stash ${deleted} was deleted`]);
      for (const ill of ['', '_a', 'a b', 'a'.repeat(257), 'ä'])
        expect(outcomeOf(await write(table, ill))).toBe(malformed);
    });
    if (name === 'create under a schema') {
      const answer = await write(table, newStashId());
      expect([outcomeOf(answer), answer.json.data.rowIDs]).toEqual(['201', []]);
    } else {
      const stashId = newStashId();
      const answer = await write(table, stashId);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([noStash, `there is no stash ${stashId}`]);
    }
  });

  test('accepts an empty stash', async () => {
    const table = await createTable(client(), [before], { n: 'number' });
    const answer = await write(table, await stashOf(client(), { 1: [], 2: [] }));
    expect([answer.status < 300, answer.json.data.rowIDs]).toEqual([true, []]);
    expect(await client().rows(answer.json.data.tableID ?? table.id)).toHaveLength(retainsBefore ? 1 : 0);
    expect((await client().head(table.path)).version === table.version).toBe(
      retainsBefore || name.startsWith('create'),
    );
  });
});

describe('an import', () => {
  test('is refused if the table has changed since the version in If-Match', async () => {
    const table = await createTable(client(), [{ n: 1 }]);
    const stashId = await stashOf(client(), { 1: [{ n: 2 }] });
    expect(outcomeOf(await client().post(table.path, [{ n: 3 }]))).toBe('201');
    await leavingUnchanged(client(), table.path, async () => {
      for (const write of [add, overwrite]) {
        expect(outcomeOf(await write(table, stashId, { 'if-match': `"${table.version}"` }))).toBe(
          '412 precondition_failed',
        );
        // This is checked before the stash.
        expect(outcomeOf(await write(table, newStashId(), { 'if-match': `"${table.version}"` }))).toBe(
          '412 precondition_failed',
        );
      }
    });
    for (const write of [add, overwrite]) {
      const { version } = await client().head(table.path);
      expect(outcomeOf(await write(table, stashId, { 'if-match': `"${version}"` }))).toMatch(/^20[01]$/);
    }
    expect(cellsOf(await client().rows(table.id))).toEqual([{ n: 2 }]);
  });

  test.each<[string, unknown]>([
    ['to add, under `rows`', { rows: { $stashID: 'x' } }],
    ['with a schema', { $stashID: 'x', schema: schemaOf({ n: 'number' }) }],
    ['with other rows', { $stashID: 'x', rows: [] }],
    ['in a list', [{ n: 1 }, { $stashID: 'x', rows: [] }]],
    ['of no name', { $stashID: 7 }],
    ['of two names', '{"$stashID":"x","$stashID":"y"}'],
    ['of several', { $stashID: ['x', 'y'] }],
  ])('is malformed %s', async (_name, body) => {
    const table = await createTable(client(), [{ n: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      expect(outcomeOf(await client().post(table.path, body))).toMatch(
        /^4(00 request_validation_error|22 column_id_reserved)$/,
      );
    });
  });

  test('is refused if there is no such table', async () => {
    const stashId = await stashOf(client(), { 1: [{ n: 2 }] });
    const table: MadeTable = { id: unknownTableId, path: `/tables/${unknownTableId}/rows`, rowIds: [], version: 0n };
    for (const write of [add, overwrite]) expect(outcomeOf(await write(table, stashId))).toBe('404 table_not_found');
  });

  test('can use a stash again, for the same table and for others; changes in one table do not show in another', async () => {
    const stashId = await stashOf(client(), { 1: numbered(0, 3), 2: numbered(3, 200) });
    const one = await createTable(client(), [], { n: 'number' });
    const other = await createTable(client(), [], { n: 'number' });
    const first = (await add(one, stashId)).json.data.rowIDs as string[];
    const second = (await add(one, stashId)).json.data.rowIDs as string[];
    const third = (await add(other, stashId)).json.data.rowIDs as string[];
    expect(new Set([...first, ...second, ...third]).size).toBe(3 * 203);
    await client().patch(`${one.path}/${first[0]}`, { n: -1 });
    await client().delete(`${one.path}/${second[1]}`);
    await client().patch(`${other.path}/${third[202]}`, { n: -2 });
    const all = numbered(0, 203);
    expect(cellsOf(await client().rows(one.id))).toEqual([{ n: -1 }, ...all.slice(1), { n: 0 }, ...all.slice(2)]);
    expect(cellsOf(await client().rows(other.id))).toEqual([...all.slice(0, -1), { n: -2 }]);
    // Later changes of the stash have no effect either.
    await putChunks(client(), stashId, [['1', [{ n: 77 }]]]);
    expectStored(await client().delete(`/stashes/${stashId}`));
    expect(cellsOf(await client().rows(one.id))).toHaveLength(405);
    await client().delete(`/tables/${one.id}`);
    expect(cellsOf(await client().rows(other.id))).toEqual([...all.slice(0, -1), { n: -2 }]);
  });

  test('keeps the row IDs in the rows of an overwrite', async () => {
    const table = await createTable(client(), numbered(0, 4), { n: 'number' });
    const [a, b, c, d] = table.rowIds;
    const stashId = await stashOf(client(), {
      1: [{ n: 10, $rowID: c }, { n: 11 }],
      2: `n,$rowID\n12,${a}\n13,\n`,
      3: numbered(14, 200).map((row, at) => ({ ...row, ...(at === 5 ? { $rowID: b } : {}) })),
    });
    const { rowIDs } = (await overwrite(table, stashId)).json.data;
    expect([rowIDs[0], rowIDs[2], rowIDs[9]]).toEqual([c, a, b]);
    expect(new Set(rowIDs).size).toBe(204);
    expect(rowIDs).not.toContain(d);
    expect(idsOf(await client().rows(table.id))).toEqual(rowIDs);
    expect((await client().get(`${table.path}/${b}`)).json.data).toEqual({ $rowID: b, n: 19 });
    expect(outcomeOf(await client().get(`${table.path}/${d}`))).toBe('404 row_not_found');
    await client().patch(`${table.path}/${a}`, { n: -12 });

    // Added rows get new IDs, also in the same table.
    const added = (await add(table, stashId)).json.data.rowIDs;
    expect(new Set([...rowIDs, ...added]).size).toBe(408);
    const rows = await client().rows(table.id);
    expect(idsOf(rows)).toEqual([...rowIDs, ...added]);
    expect(rows.map(({ n }) => n)).toEqual([
      10,
      11,
      -12,
      ...numbered(13, 201).map(({ n }) => n),
      ...numbered(10, 204).map(({ n }) => n),
    ]);
    expect((await client().get(`${table.path}/${a}`)).json.data.n).toBe(-12);
    await client().delete(`${table.path}/${a}`);
    await client().patch(`${table.path}/${added[2]}`, { n: 99 });
    expect(outcomeOf(await client().get(`${table.path}/${a}`))).toBe('404 row_not_found');

    // Nor those of another table.
    const made = (await create(table, stashId)).json.data;
    expect(made.rowIDs.filter((id: string) => [...rowIDs, ...added].includes(id))).toEqual([]);
    expect(idsOf(await client().rows(made.tableID))).toEqual(made.rowIDs);

    // Once more they are kept.
    const again = (await overwrite(table, stashId)).json.data.rowIDs;
    expect([again[0], again[2], again[9]]).toEqual([c, a, b]);
    expect(cellsOf(await client().rows(table.id))).toEqual(numbered(10, 204));
    expect((await client().get(`${table.path}/${a}`)).json.data).toEqual({ $rowID: a, n: 12 });
  });

  test('names the chunk of a row ID that the table never issued, or that occurs twice', async () => {
    const table = await createTable(client(), numbered(0, 2), { n: 'number' });
    const other = await createTable(client(), [{ n: 1 }]);
    const [a] = table.rowIds;
    const message = async (chunks: Record<string, unknown>): Promise<string> => {
      const stashId = await stashOf(client(), chunks);
      const answer = await leavingUnchanged(client(), table.path, () => overwrite(table, stashId));
      expect(outcomeOf(answer)).toBe(malformed);
      return answer.json.error.message;
    };
    expect(await message({ 2: [{ n: 1 }, { $rowID: other.rowIds[0] }], 10: [{ $rowID: 'x' }] })).toMatch(
      /^chunk 2, rows\[1\]\.\$rowID: .* is the ID of no row that this table ever had$/,
    );
    expect(await message({ 2: [{ $rowID: a }], 10: [{ n: 1 }, { $rowID: a }] })).toBe(
      `chunk 10, rows[1].$rowID: "${a}" occurs twice`,
    );
    expect(await message({ 2: [{ $rowID: a }], 10: '$rowID\nx\n' })).toBe(
      "chunk 10, rows[0].$rowID: it is no row's ID",
    );
  });
});
