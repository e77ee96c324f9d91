/** Changing the columns of a table (docs/decisions/0077): adding and removing them, their order, and their types. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer, type Client } from '../support/client.ts';
import { arrayOf, cellsOf, createTable, leavingUnchanged, type MadeTable } from '../support/tables.ts';

const { client } = useApi();

const change = (table: MadeTable, body: object, query = '', by: Client = client()): Promise<Answer> =>
  by.patch(`/tables/${table.id}${query}`, body);

async function columnsOf({ id }: MadeTable): Promise<unknown> {
  return (await client().get(`/tables/${id}`)).json.data.schema.columns;
}

const rowsOf = async ({ id }: MadeTable): Promise<unknown[]> => cellsOf(await client().rows(id));

/** Too many rows for the decision to try. */
const manyRows = (last: object): object[] => [...Array.from({ length: 2500 }, (_, n) => ({ n, t: String(n) })), last];

describe('a new column', () => {
  test('is empty in older rows, and changes the version of the table but not of the rows', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    const answer = await change(table, { add: [{ id: 'b', displayName: 'Bee', type: 'date' }] });
    expect([outcomeOf(answer), answer.json]).toEqual(['200', {}]);
    expect(answer.version! > table.version).toBe(true);
    expect(await columnsOf(table)).toEqual([
      { id: 'a', type: 'number' },
      { id: 'b', displayName: 'Bee', type: 'date' },
    ]);
    const row = `${table.path}/${table.rowIds[0]}`;
    expect((await client().get(row)).version).toBe(table.version);
    expect(outcomeOf(await client().patch(row, { b: '2024-02-29' }))).toBe('200');
    expect(await rowsOf(table)).toEqual([{ a: 1, b: '2024-02-29' }]);
  });

  test('takes the place that `order` gives', async () => {
    const table = await createTable(client(), [{ a: 1, b: 2 }]);
    await change(table, { add: [{ id: 'c', type: arrayOf('string') }], order: ['c'] });
    expect(await columnsOf(table)).toEqual([
      { id: 'c', type: arrayOf('string') },
      { id: 'a', type: 'number' },
      { id: 'b', type: 'number' },
    ]);
    const csv = await client().get(table.path, { accept: 'text/csv' });
    expect(csv.text).toBe(`$rowID,c,a,b\n${table.rowIds[0]},,1,2\n`);
  });
});

describe('a removed column', () => {
  /** A table with rows in each stored form: a block, a tail, changes, CSV and a stash. */
  const tableOfAllKinds = async (): Promise<MadeTable> => {
    const table = await createTable(client(), [{ a: 1, b: 'created' }]);
    await client().post(
      table.path,
      Array.from({ length: 150 }, (_, n) => ({ b: `block ${n}`, a: n })),
    );
    await client().post(table.path, 'a,b\n7,of CSV\n', { 'content-type': 'text/csv' });
    const stashId = `stash-${table.id}`;
    await client().put(`/stashes/${stashId}/1`, [{ a: 8, b: 'of a stash' }]);
    await client().post(table.path, { $stashID: stashId });
    await client().patch(`${table.path}/${table.rowIds[0]}`, { b: 'patched' });
    return table;
  };

  test('disappears from each read, and is empty in rows of every kind if it is added again', async () => {
    const table = await tableOfAllKinds();
    const before = await rowsOf(table);
    const without = before.map((row) => ({ a: (row as { a: number }).a }));
    const removed = await change(table, { remove: ['b'] });
    expect(await columnsOf(table)).toEqual([{ id: 'a', type: 'number' }]);
    expect(await rowsOf(table)).toEqual(without);
    const row = await client().get(`${table.path}/${table.rowIds[0]}`);
    expect([cellsOf([row.json.data]), row.version]).toEqual([[{ a: 1 }], removed.version]);
    expect(outcomeOf(await client().post(table.path, [{ b: 'x' }]))).toBe('422 column_id_not_found');

    await change(table, { add: [{ id: 'b', type: 'string' }] });
    expect(await rowsOf(table)).toEqual(without);
    await client().post(table.path, [{ b: 'new' }]);
    expect(await rowsOf(table)).toEqual([...without, { b: 'new' }]);
    const { text } = await client().get(`/tables/${table.id}/export?format=csv`);
    const withB = text.split('\n').filter((line) => /,[^,]*,./.test(line));
    expect(withB.map((line) => line.replace(/^[^,]*/, ''))).toEqual([',a,b', ',,new']);
    const found = await client().post(`/tables/${table.id}/query`, { filter: { column: 'b', op: 'isNotEmpty' } });
    expect(cellsOf(found.json.data)).toEqual([{ b: 'new' }]);
    const sql = await client().post('/query', { sql: `SELECT count(b) AS n FROM "${table.id}"` });
    expect(sql.json.data).toEqual([{ n: 1 }]);
  });

  test('is replaced by a new column with the same ID in one step', async () => {
    const table = await tableOfAllKinds();
    await change(table, { remove: ['b'], add: [{ id: 'b', type: 'number' }], order: ['b'] });
    expect(await columnsOf(table)).toEqual([
      { id: 'b', type: 'number' },
      { id: 'a', type: 'number' },
    ]);
    expect((await rowsOf(table)).every((row) => !Object.hasOwn(row as object, 'b'))).toBe(true);
  });

  test('disappears from a query that was sent before', async () => {
    const table = await createTable(client(), [{ a: 1, b: 2 }]);
    const ask = async (): Promise<unknown> => (await client().post(`/tables/${table.id}/query`, {})).json.data;
    expect(await ask()).toMatchObject([{ a: 1, b: 2 }]);
    await change(table, { remove: ['a'] });
    expect(await ask()).toEqual([{ $rowID: table.rowIds[0], b: 2 }]);
  });
});

test('a new order of columns is also the order in rows', async () => {
  const table = await createTable(client(), [{ a: 1, b: 2, c: 3 }]);
  await change(table, { order: ['c', 'a'] });
  const [row] = await client().rows(table.id);
  expect(Object.keys(row!)).toEqual(['$rowID', 'c', 'a', 'b']);
});

describe('another type', () => {
  test('that is wider takes effect at once', async () => {
    const table = await createTable(client(), [{ n: 4.2, day: '2024-02-29' }]);
    const answer = await change(table, {
      columns: [
        { id: 'n', type: 'string', displayName: 'N' },
        { id: 'day', type: arrayOf('dateTime') },
      ],
    });
    expect([outcomeOf(answer), answer.json]).toEqual(['200', {}]);
    expect(await rowsOf(table)).toEqual([{ n: '4.2', day: ['2024-02-29'] }]);
    expect(await columnsOf(table)).toEqual([
      { id: 'n', displayName: 'N', type: 'string' },
      { id: 'day', type: arrayOf('dateTime') },
    ]);
  });

  describe.each<[string, (last: object) => object[]]>([
    ['few rows', (last) => [{ n: 1, t: '1' }, last]],
    ['many rows', manyRows],
  ])('of a table with %s', (_, rowsWith) => {
    test('converts all cells if they fit', async () => {
      const table = await createTable(client(), rowsWith({ n: 5, t: ' 5.50 ' }), { n: 'number', t: 'string' });
      expect(outcomeOf(await change(table, { columns: [{ id: 't', type: 'number' }] }))).toBe('200');
      expect((await rowsOf(table)).at(-1)).toEqual({ n: 5, t: 5.5 });
      expect(outcomeOf(await client().post(table.path, [{ t: 'x' }]))).toBe('422 column_has_invalid_value');
    });

    test('is refused if some cells do not fit, and the message names the first one', async () => {
      const table = await createTable(client(), rowsWith({ n: 5, t: 'n/a' }));
      await client().patch(`${table.path}/${table.rowIds[0]}`, { t: 'none' });
      const answer = await leavingUnchanged(client(), table.path, () =>
        change(table, { columns: [{ id: 't', type: 'number' }] }),
      );
      expect(outcomeOf(answer)).toBe('422 column_has_invalid_value');
      expect(answer.json.error.message).toBe(
        `columns[0].type: 2 cells do not fit the type number: the first is "none", in the row ${table.rowIds[0]}`,
      );
    });

    test('empties the cells that do not fit, and reports them, also in a dry run', async () => {
      const table = await createTable(client(), rowsWith({ n: 5, t: 'n/a' }));
      const body = { columns: [{ id: 't', type: 'number' }] };
      const misfits = [{ id: 't', cells: 1, rowID: table.rowIds.at(-1), value: '"n/a"' }];
      const tried = await leavingUnchanged(client(), table.path, () => change(table, body, '?dryRun=true'));
      expect([outcomeOf(tried), tried.json, tried.version]).toEqual(['200', { data: { misfits } }, table.version]);
      const answer = await change(table, body, '?onMisfit=clear');
      expect([outcomeOf(answer), answer.json]).toEqual(['200', { data: { misfits } }]);
      expect((await rowsOf(table)).at(-1)).toEqual({ n: 5 });
      // Cleared values do not come back.
      expect(outcomeOf(await change(table, { columns: [{ id: 't', type: 'string' }] }))).toBe('200');
      expect((await rowsOf(table)).slice(0, 1)).toEqual([
        { n: ((await rowsOf(table)) as { n: number }[])[0]!.n, t: expect.any(String) },
      ]);
      expect((await rowsOf(table)).at(-1)).toEqual({ n: 5 });
    });

    test('misses no cell while other clients write to the column', async () => {
      const table = await createTable(client(), rowsWith({ n: 5, t: '5' }));
      const row = `${table.path}/${table.rowIds[0]}`;
      let writing = true;
      const write = async (): Promise<void> => {
        for (let n = 0; writing; n += 1) {
          // Sometimes a text, which fits only before the type has changed.
          const value = n % 3 === 0 ? `text ${n}` : `${n}`;
          const answer = await client().patch(row, { t: value });
          if (answer.status !== 200) return;
          if (n % 8 === 7) await new Promise((resolve) => setTimeout(resolve, 50));
        }
      };
      const writer = write();
      const answer = await change(table, { columns: [{ id: 't', type: 'number' }] }, '?onMisfit=clear');
      writing = false;
      await writer;
      expect(outcomeOf(answer)).toBe('200');
      const { misfits } = answer.json.data;
      const rows = await rowsOf(table);
      // The one cell that changes either fitted when the type changed, or was cleared, and counted.
      expect(Object.hasOwn(rows[0] as object, 't')).toBe(misfits.length === 0);
      expect(rows.slice(1).every((each) => typeof (each as { t: unknown }).t === 'number')).toBe(true);
    });
  });

  test('takes effect on a large table while others write to it without a pause', async () => {
    const table = await createTable(client(), manyRows({ n: 5, t: '5' }));
    let writing = true;
    const write = async (row: string): Promise<void> => {
      for (let n = 0; writing; n += 1) {
        expect((await client().patch(`${table.path}/${row}`, { n })).status).toBe(200);
        if (n % 5 === 0) expect((await client().post(table.path, [{ n, t: n }])).status).toBe(201);
      }
    };
    const writers = [table.rowIds[0]!, table.rowIds[1]!].map(write);
    const answer = await change(table, { columns: [{ id: 't', type: 'number' }] });
    writing = false;
    await Promise.all(writers);
    expect(outcomeOf(answer)).toBe('200');
    expect((await rowsOf(table)).every((row) => typeof (row as { t: unknown }).t === 'number')).toBe(true);
  });

  test('a change of several types counts the misfits of each column', async () => {
    const table = await createTable(client(), [
      { a: 'x', b: '1' },
      { a: 'y', b: 'z' },
    ]);
    const columns = [
      { id: 'b', type: 'number' },
      { id: 'a', type: 'boolean' },
    ];
    const answer = await change(table, { columns }, '?onMisfit=clear');
    expect(answer.json.data.misfits).toEqual([
      { id: 'b', cells: 1, rowID: table.rowIds[1], value: '"z"' },
      { id: 'a', cells: 2, rowID: table.rowIds[0], value: '"x"' },
    ]);
    expect(await rowsOf(table)).toEqual([{ b: 1 }, {}]);
  });

  test('takes effect once under an Idempotency-Key, and a repetition gets the first answer', async () => {
    for (const rows of [[{ n: 1, t: 'x' }], manyRows({ t: 'x' })]) {
      const table = await createTable(client(), rows);
      const send = (): Promise<Answer> =>
        client().patch(
          `/tables/${table.id}?onMisfit=clear`,
          { columns: [{ id: 't', type: 'number' }] },
          { 'idempotency-key': 'once' },
        );
      const first = await send();
      expect(first.json.data.misfits).toHaveLength(1);
      await change(table, { columns: [{ id: 't', type: 'string' }] });
      const again = await send();
      expect([again.json, again.version]).toEqual([first.json, first.version]);
      expect(await columnsOf(table)).toContainEqual({ id: 't', type: 'string' });
    }
  });
});

describe('a change of columns', () => {
  test('is refused if the table has changed since the version in If-Match', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await client().post(table.path, [{ a: 2 }]);
    for (const body of [{ remove: ['a'] }, { columns: [{ id: 'a', type: 'boolean' }] }]) {
      for (const query of ['', '?dryRun=true']) {
        const answer = await client().patch(`/tables/${table.id}${query}`, body, { 'if-match': `"${table.version}"` });
        expect(outcomeOf(answer)).toBe('412 precondition_failed');
      }
    }
  });

  test.each<[string, object, string]>([
    ['an unknown column', { remove: ['z'] }, '422 column_id_not_found'],
    ['a column that is there', { add: [{ id: 'a', type: 'json' }] }, '422 column_id_not_unique'],
    ['a reserved column', { add: [{ id: '$stashID', type: 'json' }] }, '422 column_id_reserved'],
    [
      'too many columns',
      { add: Array.from({ length: 1000 }, (_, n) => ({ id: `c${n}`, type: 'number' })) },
      '400 limit_exceeded',
    ],
    ['a column without a type', { add: [{ id: 'b' }] }, '400 request_validation_error'],
    ['a column that changes nothing', { columns: [{ id: 'a' }] }, '400 request_validation_error'],
    ['no list', { remove: 'a' }, '400 request_validation_error'],
  ])('is refused, and only tried refused alike: %s', async (_, body, outcome) => {
    const table = await createTable(client(), [{ a: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const [changed, tried] = [await change(table, body), await change(table, body, '?dryRun=true')];
      expect([outcomeOf(changed), tried.json]).toEqual([outcome, changed.json]);
    });
  });

  test('is refused with an unknown mode', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    expect(outcomeOf(await change(table, {}, '?onMisfit=drop'))).toBe('400 request_validation_error');
    expect(outcomeOf(await change(table, {}, '?dryRun=1'))).toBe('400 request_validation_error');
  });
});
