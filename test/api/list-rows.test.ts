/** Spec 4.12, decisions 3: pages. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Client } from '../support/client.ts';
import { cellsOf, createTable, unknownTableId } from '../support/tables.ts';

const { client, api } = useApi();
const malformed = '400 request_validation_error';
const numbered = (count: number, from = 0): { n: number }[] =>
  Array.from({ length: count }, (_, index) => ({ n: from + index }));

interface Page {
  readonly data: Record<string, unknown>[];
  readonly continuation?: string;
}

async function pagesOf(reader: Client, path: string, limit: number): Promise<Page[]> {
  const pages: Page[] = [];
  for (let from = ''; ;) {
    const { json } = await reader.get(`${path}?limit=${limit}${from}`);
    pages.push(json);
    if (json.continuation === undefined) return pages;
    from = `&continuation=${json.continuation}`;
  }
}

const numbersOf = (pages: readonly Page[]): unknown[] => pages.flatMap(({ data }) => data.map((row) => row['n']));

test('an empty table has one empty page', async () => {
  const table = await createTable(client(), []);
  const answer = await client().get(table.path);
  expect([answer.json, answer.version]).toEqual([{ data: [] }, table.version]);
});

test.each([
  [5, 1, 5],
  [5, 2, 3],
  [5, 4, 2],
  [5, 5, 1],
  [5, 6, 1],
  [5, 10_000, 1],
  [250, 100, 3],
  [200, 100, 2],
  [101, 7, 15],
])('%i rows in pages of %i are %i pages, with each row once', async (count, limit, pageCount) => {
  const table = await createTable(client(), numbered(count));
  const pages = await pagesOf(client(), table.path, limit);
  expect(pages).toHaveLength(pageCount);
  expect(numbersOf(pages)).toEqual(numbered(count).map(({ n }) => n));
});

test.each([
  ['limit=1', '200'],
  ['limit=007', '200'],
  ['limit=10000', '200'],
  ['limit=10001', '200'],
  ['limit=99999999999999999999999999', '200'],
  ['limit=0', malformed],
  ['limit=-1', malformed],
  ['limit=%2B1', malformed],
  ['limit=1.5', malformed],
  ['limit=1e3', malformed],
  ['limit=0x10', malformed],
  ['limit=abc', malformed],
  ['limit=', malformed],
  ['limit', malformed],
  ['limit=%201', malformed],
  ['limit=1&limit=2', malformed],
  ['Limit=1', malformed],
  ['offset=1', malformed],
  ['limit=1&__proto__=1', malformed],
  ['limit[]=1', malformed],
  ['continuation=x', malformed],
  ['continuation=%00', malformed],
  [`continuation=${'A'.repeat(40)}`, malformed],
  [`continuation=${'A'.repeat(5000)}`, malformed],
])('the query ?%s is answered with %s', async (query, outcome) => {
  const table = await createTable(client(), [{ n: 1 }]);
  expect(outcomeOf(await client().get(`${table.path}?${query}`))).toBe(outcome);
});

test.each([
  [`/tables/${unknownTableId}/rows`, '404 table_not_found'],
  ['/tables/x/rows', '404 table_not_found'],
  [`/tables/${unknownTableId}/rows?limit=0`, malformed],
])('GET %s is %s', async (path, outcome) => {
  expect(outcomeOf(await client().get(path))).toBe(outcome);
});

describe('a page has at most', () => {
  test('10,000 rows, with and without a limit', async () => {
    const table = await createTable(client(), numbered(10_001));
    for (const query of ['', '?limit=10000', '?limit=20000']) {
      const { json } = await client().get(`${table.path}${query}`);
      expect(json.data).toHaveLength(10_000);
      const rest = await client().get(`${table.path}?continuation=${json.continuation}`);
      expect([cellsOf(rest.json.data), rest.json.continuation]).toEqual([[{ n: 10_000 }], undefined]);
    }
  });

  test('16 MiB, but has one row at least', async () => {
    const text = 'é'.repeat(100_000);
    const table = await createTable(client(), [], { n: 'number', text: 'string' });
    for (let from = 0; from < 90; from += 45) {
      await client().post(
        table.path,
        numbered(45, from).map((row) => ({ ...row, text })),
      );
    }
    const first = await client().get(table.path);
    expect(Buffer.byteLength(first.text)).toBeLessThanOrEqual(16 * 1024 * 1024 + 1024);
    expect(first.json.data.length).toBeGreaterThan(60);
    const pages = await pagesOf(client(), table.path, 10_000);
    expect(numbersOf(pages)).toEqual(numbered(90).map(({ n }) => n));
  });
});

describe('a continuation', () => {
  test('works only for its own table, and only unchanged', async () => {
    const table = await createTable(client(), numbered(3));
    const other = await createTable(client(), numbered(3));
    const foreign = (await api().createTeam()).client;
    const { continuation } = (await client().get(`${table.path}?limit=1`)).json;
    const given = (path: string, text: string): Promise<string> =>
      client()
        .get(`${path}?continuation=${encodeURIComponent(text)}`)
        .then(outcomeOf);
    expect(await given(table.path, continuation)).toBe('200');
    expect(await given(other.path, continuation)).toBe(malformed);
    expect(outcomeOf(await foreign.get(`${table.path}?continuation=${continuation}`))).toMatch(/^40[04] /);
    for (let at = 0; at < continuation.length; at += 1) {
      const changed = continuation.slice(0, at) + (continuation[at] === 'A' ? 'B' : 'A') + continuation.slice(at + 1);
      expect(await given(table.path, changed)).toBe(malformed);
    }
    expect(await given(table.path, `${continuation}A`)).toBe(malformed);
    expect(await given(table.path, continuation.slice(0, -1))).toBe(malformed);
  });

  test('can be used again, with another limit', async () => {
    const table = await createTable(client(), numbered(10));
    const { continuation } = (await client().get(`${table.path}?limit=4`)).json;
    for (const limit of [1, 2, 6, 6]) {
      const { json } = await client().get(`${table.path}?limit=${limit}&continuation=${continuation}`);
      expect(cellsOf(json.data)).toEqual(numbered(limit, 4));
    }
  });

  test('shows changes of rows that were not read yet', async () => {
    const table = await createTable(client(), numbered(6));
    const { continuation } = (await client().get(`${table.path}?limit=2`)).json;
    await client().patch(`${table.path}/${table.rowIds[4]}`, { n: 40 });
    await client().patch(`${table.path}/${table.rowIds[0]}`, { n: 99 });
    await client().delete(`${table.path}/${table.rowIds[2]}`);
    await client().delete(`${table.path}/${table.rowIds[1]}`);
    const added = await client().post(table.path, [{ n: 6 }]);
    const page = await client().get(`${table.path}?continuation=${continuation}`);
    expect(cellsOf(page.json.data)).toEqual([{ n: 3 }, { n: 40 }, { n: 5 }, { n: 6 }]);
    expect(page.version).toBe(added.version);
  });

  test('ends in an empty page if all remaining rows have been deleted', async () => {
    const table = await createTable(client(), numbered(4));
    const { continuation } = (await client().get(`${table.path}?limit=2`)).json;
    for (const id of table.rowIds.slice(2)) await client().delete(`${table.path}/${id}`);
    const page = await client().get(`${table.path}?limit=2&continuation=${continuation}`);
    expect(page.json).toEqual({ data: [] });
  });
});

test('long runs of deleted rows make no page empty', async () => {
  const table = await createTable(client(), numbered(60));
  const ids = [...table.rowIds];
  for (const count of [200, 4, 150, 30]) {
    ids.push(...(await client().post(table.path, numbered(count, ids.length))).json.data.rowIDs);
  }
  const deleted = new Set([0, 1, 59, 300, 443]);
  for (let n = 50; n < 140; n += 1) deleted.add(n);
  for (let n = 258; n < 266; n += 1) deleted.add(n);
  for (let n = 410; n < 444; n += 1) deleted.add(n);
  await Promise.all([...deleted].map((n) => client().delete(`${table.path}/${ids[n]}`)));
  const left = ids.map((_, n) => n).filter((n) => !deleted.has(n));
  for (const limit of [1, 10, 97, 10_000]) {
    const pages = await pagesOf(client(), table.path, limit);
    expect(numbersOf(pages)).toEqual(left);
    expect(pages.filter(({ data }) => data.length === 0)).toEqual([]);
  }
});

test('a table whose rows are all deleted has one empty page', async () => {
  const table = await createTable(client(), numbered(5));
  for (const id of table.rowIds) await client().delete(`${table.path}/${id}`);
  expect((await client().get(`${table.path}?limit=1`)).json).toEqual({ data: [] });
});

test('while others write, a reader gets every row that stays exactly once', async () => {
  const table = await createTable(client(), numbered(1_000));
  const reading = new AbortController();
  const writing = (async () => {
    for (let n = 0; !reading.signal.aborted; n += 1) {
      await client().post(table.path, [{ n: 10_000 + n }]);
      await client().patch(`${table.path}/${table.rowIds[(7 * n) % 1_000]}`, { n: (7 * n) % 1_000 });
      if (n < 100) await client().delete(`${table.path}/${table.rowIds[10 * n + 5]}`);
    }
  })();
  const pages: Page[] = [];
  try {
    pages.push(...(await pagesOf(client(), table.path, 23)));
  } finally {
    reading.abort();
    await writing;
  }
  const numbers = numbersOf(pages) as number[];
  const stayed = numbers.filter((n) => n < 1_000 && n % 10 !== 5);
  expect(stayed).toEqual(
    numbered(1_000)
      .map(({ n }) => n)
      .filter((n) => n % 10 !== 5),
  );
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(new Set(numbers).size).toBe(numbers.length);
});

test('an empty continuation, filter, sort or fields counts as absent; an empty If-Match does not', async () => {
  const { path, version } = await createTable(client(), numbered(3));
  for (const query of [
    'continuation=',
    'filter=',
    'sort=',
    'fields=',
    'continuation=&filter=&sort=&fields=&limit=10',
  ]) {
    const { json, version: read } = await client().get(`${path}?${query}`);
    expect([query, numbersOf([json]), read]).toEqual([query, [0, 1, 2], version]);
  }
  expect((await client().get('/tables?continuation=')).status).toBe(200);
  expect(outcomeOf(await client().post(path, '[{}]', { 'if-match': '' }))).toBe(malformed);
});
