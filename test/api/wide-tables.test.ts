/** Queries of tables with the maximum of columns are answered, whatever was changed since the first query. */
import { expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import type { Client } from '../support/client.ts';
import { useOwnApi } from '../support/api.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { arrayOf, createTable } from '../support/tables.ts';

// These queries take so much memory that queries of other tests might find none.
const { api } = useOwnApi();

const columnsMax = 1000;

type Cells = Record<string, unknown>;

function rowOf(columns: number, cell: (column: number) => unknown, from = 0): Cells {
  return Object.fromEntries(Array.from({ length: columns }, (_, at) => [`c${at + from}`, cell(at + from)]));
}

async function expectAnswer(client: Client, table: string, query: object, data: unknown): Promise<void> {
  const { status, text, json } = await client.post(`/tables/${table}/query`, query);
  expect([status, status === 200 ? json.data : text]).toEqual([200, data]);
}

test('rows of 1,000 numbers are grouped, sorted, exported and read by SQL after rows were changed, added and deleted', async () => {
  const { client } = await api().createTeam();
  const { id, path, rowIds } = await createTable(client, [
    rowOf(columnsMax, (at) => at),
    rowOf(columnsMax, (at) => -at),
  ]);
  await expectAnswer(client, id, { groupBy: ['c7'], aggregate: [{ op: 'count' }] }, [
    { c7: -7, count: 1 },
    { c7: 7, count: 1 },
  ]);
  for (const changed of [1, 2, 3]) {
    expect((await client.patch(`${path}/${rowIds[0]}`, { c7: changed })).status).toBe(200);
    await expectAnswer(client, id, { groupBy: ['c7'], aggregate: [{ op: 'count' }] }, [
      { c7: -7, count: 1 },
      { c7: changed, count: 1 },
    ]);
  }
  for (const added of [100, 101]) expect((await client.post(path, [rowOf(columnsMax, () => added)])).status).toBe(201);
  await expectAnswer(client, id, { groupBy: ['c999'], sort: ['-c999'] }, [
    { c999: 999 },
    { c999: 101 },
    { c999: 100 },
    { c999: -999 },
  ]);
  expect((await client.delete(`${path}/${rowIds[1]}`)).status).toBeLessThan(300);
  await expectAnswer(client, id, { filter: { column: 'c5', op: 'gt', value: 0 }, sort: ['-c998'], fields: ['c998'] }, [
    { $rowID: expect.any(String), c998: 998 },
    { $rowID: expect.any(String), c998: 101 },
    { $rowID: expect.any(String), c998: 100 },
  ]);
  const sorted = await client.get(`/tables/${id}/export?format=csv&sort=-c500&fields=c500`);
  expect([
    sorted.status,
    sorted.text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(',')[1]),
  ]).toEqual([200, ['c500', '500', '101', '100']]);
  const sql = await client.post('/query', { sql: `SELECT sum(c3) AS n FROM "${id}"` });
  expect([sql.status, sql.json.data]).toEqual([200, [{ n: 204 }]]);
});

test.each<[string, unknown, (changed: number) => unknown]>([
  ['texts', 'string', (changed) => `text ${changed}`],
  ['lists', arrayOf('string'), (changed) => [`text ${changed}`, 'another']],
])('rows of 1,000 %s are filtered after they were changed', async (_name, type, cell) => {
  const { client } = await api().createTeam();
  const { id, path, rowIds } = await createTable(
    client,
    [rowOf(columnsMax, () => cell(0))],
    rowOf(columnsMax, () => type),
  );
  for (const changed of [1, 2]) {
    await expectAnswer(client, id, { filter: { column: 'c9', op: 'eq', value: cell(changed - 1) }, fields: ['c9'] }, [
      { $rowID: rowIds[0], c9: cell(changed - 1) },
    ]);
    expect((await client.patch(`${path}/${rowIds[0]}`, { c9: cell(changed) })).status).toBe(200);
  }
  await expectAnswer(client, id, { filter: { column: 'c9', op: 'eq', value: cell(2) }, fields: ['c9'] }, [
    { $rowID: rowIds[0], c9: cell(2) },
  ]);
});

test('a table can be queried while its columns grow to 1,000', async () => {
  const { client } = await api().createTeam();
  const { id, path } = await createTable(client, [{ c0: 0 }]);
  for (const [from, to] of [
    [1, 4],
    [4, 300],
    [300, 301],
    [301, columnsMax],
  ] as const) {
    await expectAnswer(client, id, { aggregate: [{ op: 'sum', column: `c${from - 1}` }] }, [
      { [`sum_c${from - 1}`]: from - 1 },
    ]);
    expect((await client.post(`${path}?onSchemaError=updateSchema`, [rowOf(to - from, (at) => at, from)])).status).toBe(
      201,
    );
    await expectAnswer(
      client,
      id,
      {
        aggregate: [
          { op: 'sum', column: `c${to - 1}` },
          { op: 'sum', column: 'c0' },
        ],
      },
      [{ [`sum_c${to - 1}`]: to - 1, sum_c0: 0 }],
    );
  }
});

test('many simultaneous look-ups in a table of 1,000 columns are answered in the order of the requests', async () => {
  const { client } = await api().createTeam();
  const { id, rowIds } = await createTable(client, [rowOf(columnsMax, (at) => at), rowOf(columnsMax, (at) => -at)]);
  const answers = [];
  for (let asked = 0; asked < 20; asked += 1) {
    answers.push(
      await client.post(`/tables/${id}/query`, {
        filter: { column: '$rowID', op: 'in', value: rowIds },
        sort: ['c7'],
        fields: ['c8'],
        limit: 1,
      }),
    );
  }
  for (const { status, json } of answers) {
    expect([status, json.data]).toEqual([200, [{ $rowID: rowIds[1], c8: -8 }]]);
    const next = await client.post(`/tables/${id}/query`, { continuation: json.continuation, limit: 1 });
    expect([next.status, next.json.data]).toEqual([200, [{ $rowID: rowIds[0], c8: 8 }]]);
  }
});

test('a continuation shows the columns that the table had, even if it has more by now', async () => {
  const { client } = await api().createTeam();
  const { id, path } = await createTable(client, [{ a: 1 }, { a: 2 }]);
  const ask = (continuation: string): ReturnType<Client['get']> =>
    client.get(`${path}?filter={"and":[]}&limit=1${continuation}`, { accept: 'text/csv' });
  const first = await ask('');
  expect((await client.post(`${path}?onSchemaError=updateSchema`, [{ a: 3, b: 4 }])).status).toBe(201);
  await expectAnswer(client, id, { aggregate: [{ op: 'sum', column: 'b' }] }, [{ sum_b: 4 }]);
  const next = await ask(`&continuation=${first.headers.get('tablog-continuation')}`);
  expect([first, next].map(({ text }) => text.split('\n').map((line) => line.split(',').slice(1).join()))).toEqual([
    ['a', '1', ''],
    ['a', '2', ''],
  ]);
});

test('a table without columns can be queried, also after it gets some', async () => {
  const { client } = await api().createTeam();
  const { id, path } = await createTable(client, [{}]);
  await expectAnswer(client, id, { aggregate: [{ op: 'count' }] }, [{ count: 1 }]);
  expect((await client.post(`${path}?onSchemaError=updateSchema`, [{ a: 3, b: 4 }])).status).toBe(201);
  await expectAnswer(client, id, { aggregate: [{ op: 'sum', column: 'b' }] }, [{ sum_b: 4 }]);
});

test('several teams query and export tables of 1,000 columns at once, before and after patches: each request is answered or refused as too large, and the query process survives', async () => {
  const rows = scale.wideRows;
  const seen: string[] = [];
  const work = async (cell: (column: number, row: number) => unknown): Promise<void> => {
    const { client } = await api().createTeam();
    const some = (from: number): Cells[] =>
      Array.from({ length: Math.min(100, rows - from) }, (_, row) => rowOf(columnsMax, (at) => cell(at, from + row)));
    const { id, path, rowIds } = await createTable(client, some(0));
    for (let from = 100; from < rows; from += 100) expect((await client.post(path, some(from))).status).toBe(201);
    const note = async (expected: (text: string) => boolean, answer: Promise<Response>): Promise<void> => {
      const response = await answer;
      // If there is no memory for the rest of a file, the connection ends.
      const text = await response.text().catch(() => null);
      seen.push(
        text === null
          ? 'broken'
          : response.status === 200
            ? `200 ${expected(text)}`
            : `${response.status} ${JSON.parse(text).error.type}`,
      );
    };
    const get = (query: string): Promise<Response> =>
      fetch(`${client.url}/tables/${id}/export?${query}`, { headers: { authorization: `Bearer ${client.token}` } });
    const hasLines =
      (more: number) =>
      (text: string): boolean =>
        text.trimEnd().split('\n').length === rows + more;
    for (const round of [1, 2]) {
      await note(hasLines(1), get('format=csv&sort=-c700'));
      if (round === 1) {
        await note(hasLines(0), get('format=ndjson&filter={"column":"c900","op":"isNotEmpty"}'));
        await note((text) => text.startsWith('PAR1'), get('format=parquet&sort=c300'));
      }
      const { status, json } = await client.post(`/tables/${id}/query`, {
        groupBy: ['c800'],
        aggregate: [{ op: 'count' }],
        limit: rows,
      });
      seen.push(
        status === 200
          ? `200 ${json.data.length === rows || json.continuation !== null}`
          : `${status} ${json.error.type}`,
      );
      expect(
        (
          await client.patch(
            `${path}/${rowIds[0]}`,
            rowOf(columnsMax, (at) => cell(at, rows + round)),
          )
        ).status,
      ).toBe(200);
    }
  };
  const starts = async (): Promise<number> =>
    sumOf(parseMetrics(await (await fetch(`${api().url}/metrics`)).text()), 'tablog_query_engine_starts')!;
  const before = await starts();
  await Promise.all([work((at, row) => at + row), work((at, row) => `text ${at + row}`), work((at, row) => at - row)]);
  expect(seen).toHaveLength(18);
  expect(await starts()).toBe(Math.max(before, 1));
  for (const one of seen)
    expect(['200 true', 'broken', '400 limit_exceeded', '503 service_unavailable']).toContain(one);
  expect(seen.filter((one) => one === '200 true').length).toBeGreaterThan(3);
});

test('three teams export tables of 1,000 columns in three formats at once: each export is complete or refused, and the query process survives', async () => {
  const rows = scale.wideRows;
  const startsOf = async (): Promise<number> =>
    sumOf(parseMetrics(await (await fetch(`${api().url}/metrics`)).text()), 'tablog_query_engine_starts')!;
  const tables = await Promise.all(
    [0, 1, 2].map(async (team) => {
      const { client } = await api().createTeam();
      const some = (from: number): Cells[] =>
        Array.from({ length: Math.min(100, rows - from) }, (_, row) =>
          rowOf(columnsMax, (at) => (at + row + from) * (team + 1)),
        );
      const { id, path } = await createTable(client, some(0));
      for (let from = 100; from < rows; from += 100) expect((await client.post(path, some(from))).status).toBe(201);
      expect((await client.post(`/tables/${id}/query`, { aggregate: [{ op: 'count' }] })).status).toBe(200);
      return { client, id };
    }),
  );
  const before = await startsOf();
  const exported = await Promise.all(
    tables.flatMap(({ client, id }) =>
      ['csv&sort=-c700', 'ndjson', 'parquet&sort=c300'].map(async (format) => {
        const response = await fetch(`${client.url}/tables/${id}/export?format=${format}`, {
          headers: { authorization: `Bearer ${client.token}` },
        });
        const text = await response.text();
        if (response.status !== 200) return `${response.status} ${JSON.parse(text).error.type}`;
        const isWhole = format.startsWith('parquet')
          ? text.startsWith('PAR1') && text.endsWith('PAR1')
          : text.trimEnd().split('\n').length === rows + (format.startsWith('csv') ? 1 : 0);
        return isWhole ? 'whole' : 'cut';
      }),
    ),
  );
  expect(await startsOf()).toBe(before);
  for (const one of exported) expect(['whole', '400 limit_exceeded', '503 service_unavailable']).toContain(one);
  expect(exported.filter((one) => one === 'whole').length).toBeGreaterThan(3);
});
