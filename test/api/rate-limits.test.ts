/**
 * Rate limits of a team (docs/reference/rate-limits.md), over HTTP. Each process counts for itself, so each client here
 * uses one process.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parseList, type Item } from 'structured-headers';
import { useOwnApi, type ApiOfFile } from '../support/api.ts';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { fetchChecked } from '../support/interface-document.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { sleepUntil } from '../support/server.ts';
import { expectStored, newStashId, stashOf } from '../support/stashes.ts';
import { createTable, unknownTableId } from '../support/tables.ts';
import { postUpload, sendBytes } from '../support/uploads.ts';

const limited = '429 rate_limited';
const rows = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }));

/** A new team, with unused windows. */
async function newTeam({ api }: ApiOfFile): Promise<Client> {
  return new Client(api().url, (await api().createTeam()).client.token);
}

/** What is left of each limit. */
function leftOf({ headers }: Answer): Record<string, unknown> {
  const items = parseList(headers.get('ratelimit')!) as Item[];
  return Object.fromEntries(items.map(([name, parameters]) => [name, parameters.get('r')]));
}

async function refusedBy(url: string, limit: string): Promise<number> {
  return sumOf(parseMetrics((await fetchChecked(url, '/metrics')).text), 'tablog_http_requests_rate_limited_total', {
    limit,
  })!;
}

describe('in a window that does not end', () => {
  const file = useOwnApi({ RATE_LIMIT_REQUESTS: '20', RATE_LIMIT_ROWS: '12000', RATE_LIMIT_WINDOW_MS: '86400000' });
  let client: Client;
  beforeAll(async () => {
    // Comes before the other limits, so that their refusals do not interfere.
    expect(await refusedBy(file.api().url, 'requests')).toBe(0);
  });

  test('exactly as many of several simultaneous requests succeed as are left', async () => {
    client = await newTeam(file);
    const answers = await Promise.all(Array.from({ length: 35 }, () => client.get('/tables')));
    const outcomes = answers.map(outcomeOf).toSorted();
    expect(outcomes).toEqual([
      ...Array.from({ length: 20 }, () => '200'),
      ...Array.from({ length: 15 }, () => limited),
    ]);
    for (const answer of answers)
      expect(answer.headers.get('ratelimit-policy')).toBe('"requests";q=20;w=86400, "rows";q=12000;qu="rows";w=86400');
    for (const { headers } of answers.filter(({ status }) => status === 429)) {
      const wait = Number(headers.get('retry-after'));
      expect(wait > 80_000 && wait <= 86_400).toBe(true);
    }
    expect(await refusedBy(client.url, 'requests')).toBeGreaterThanOrEqual(15);
  });

  test('a team that has used up its requests can use only public paths, and other teams are not affected', async () => {
    client = await newTeam(file);
    await Promise.all(rows(20).map(() => client.get('/tables')));
    const path = `/tables/${unknownTableId}`;
    const answers = [
      await client.head(`${path}/rows`),
      await client.patch(path, { name: 'x' }),
      await client.delete(`${path}/rows/x`),
      await client.put('/stashes/s/1', rows(3000)),
      await client.post('/tables', 'no JSON'),
      await client.get('/tables?x=1'),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 429));
    for (const path of ['/livez', '/readyz', '/openapi.json']) {
      const { status, headers } = await fetchChecked(client.url, path);
      expect([status, headers.get('ratelimit')]).toEqual([200, null]);
    }
    const stranger = await new Client(client.url, `${client.token}x`).get('/tables');
    expect([outcomeOf(stranger), stranger.headers.get('ratelimit')]).toEqual(['404 request_error', null]);
    expect(outcomeOf(await (await newTeam(file)).get('/tables'))).toBe('200');
  });

  test('every answer shows what is left, whatever its status', async () => {
    client = await newTeam(file);
    const created = await client.post('/tables', {
      name: 'x',
      schema: { columns: [{ id: 'n', type: 'number' }] },
      rows: rows(3),
    });
    const table = `/tables/${created.json.data.tableID}`;
    const row = `${table}/rows/${created.json.data.rowIDs[0]}`;
    const etag = created.headers.get('etag')!;
    const answers: [string, Answer, number][] = [
      ['201', created, 11_997],
      ['304', await client.get(`${table}/rows`, { 'if-none-match': etag }), 11_997],
      ['200', await client.head(table), 11_997],
      ['200', await client.patch(row, { n: 7 }), 11_996],
      ['412 precondition_failed', await client.patch(row, { n: 8 }, { 'if-match': '"0"' }), 11_995],
      ['422 column_has_invalid_value', await client.patch(row, { n: 'x' }), 11_994],
      ['400 request_validation_error', await client.patch(row, 'no JSON'), 11_994],
      ['404 table_not_found', await client.get(`/tables/${unknownTableId}/rows`), 11_994],
      ['200', await client.delete(row), 11_993],
      ['200', await client.patch(table, { name: 'y' }), 11_993],
      ['200', await client.delete(table), 11_993],
    ];
    expect(answers.map(([, answer]) => outcomeOf(answer))).toEqual(answers.map(([outcome]) => outcome));
    expect(answers.map(([, answer]) => leftOf(answer))).toEqual(
      answers.map(([, , left], at) => ({ requests: 19 - at, rows: left })),
    );
  });

  test('a write of more rows than are left is refused as a whole, and a smaller one is accepted', async () => {
    client = await newTeam(file);
    const before = await refusedBy(client.url, 'rows');
    const table = await createTable(client, rows(9000));
    expect(outcomeOf(await client.post(table.path, rows(3001)))).toBe(limited);
    expect(outcomeOf(await client.put(`/stashes/${newStashId()}/1`, rows(3001)))).toBe(limited);
    expect(outcomeOf(await client.put(`/tables/${table.id}`, rows(3001)))).toBe(limited);
    const added = await client.post(table.path, rows(3000));
    expect([outcomeOf(added), leftOf(added)['rows']]).toEqual(['201', 0]);
    const row = `${table.path}/${table.rowIds[0]}`;
    const refused = [
      await client.post(table.path, rows(1)),
      await client.patch(row, { n: 1 }),
      await client.delete(row),
      await client.post('/tables', { name: 'x', rows: rows(1) }),
    ];
    expect(refused.map(outcomeOf)).toEqual(refused.map(() => limited));
    await createTable(client, [], { n: 'number' });
    expect((await client.head(table.path)).version).toBe(added.version);
    expect(await client.rows(table.id)).toHaveLength(12_000);
    expect(await refusedBy(client.url, 'rows')).toBe(before + 7);
  });

  test('simultaneous writes add exactly as many rows as are left', async () => {
    client = await newTeam(file);
    const table = await createTable(client, [], { n: 'number' });
    const answers = await Promise.all(rows(10).map(() => client.post(table.path, rows(2500))));
    expect(answers.map(outcomeOf).toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => '201'),
      ...Array.from({ length: 6 }, () => limited),
    ]);
    expect(await client.rows(table.id)).toHaveLength(10_000);
  });

  test('the first write in a window may exceed the limit, in one block or in many', async () => {
    client = await newTeam(file);
    const first = await client.post('/tables', { name: 'large', rows: rows(50_000) });
    expect([outcomeOf(first), leftOf(first)['rows']]).toEqual(['201', 0]);
    // 50,000 rows are more than four days of this limit.
    const next = await client.post('/tables', { name: 'next', rows: rows(1) });
    expect(outcomeOf(next)).toBe(limited);
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(4 * 86_400);
  });

  test('a large body is refused at its first block, or accepted to its end', async () => {
    client = await newTeam(file);
    const table = await createTable(client, rows(2000));
    const begun = await client.post(table.path, rows(30_000));
    expect([outcomeOf(begun), leftOf(begun)['rows']]).toEqual(['201', 0]);
    expect(outcomeOf(await client.post(table.path, rows(30_000)))).toBe(limited);
    client = await newTeam(file);
    const other = await createTable(client, rows(2001));
    const refused = await client.post(other.path, rows(30_000));
    expect([outcomeOf(refused), leftOf(refused)['rows']]).toEqual([limited, 9_999]);
    expect(await client.rows(other.id)).toHaveLength(2001);
  });

  test('rows of a stash count when they arrive, and not when they are imported', async () => {
    client = await newTeam(file);
    const stashId = newStashId();
    const stored = await client.put(`/stashes/${stashId}/1`, rows(12_000));
    expectStored(stored);
    expect(leftOf(stored)['rows']).toBe(0);
    expect(outcomeOf(await client.put(`/stashes/${stashId}/2`, rows(1)))).toBe(limited);
    const imported = await client.post('/tables', { name: 'imported', rows: { $stashID: stashId } });
    expect([outcomeOf(imported), leftOf(imported)['rows']]).toEqual(['201', 0]);
    expect(outcomeOf(await client.post(`/tables/${imported.json.data.tableID}/rows`, { $stashID: stashId }))).toBe(
      '201',
    );
  });
});

describe('when a window has ended', () => {
  const file = useOwnApi({ RATE_LIMIT_REQUESTS: '3', RATE_LIMIT_ROWS: '5', RATE_LIMIT_WINDOW_MS: '1000' });

  test('as many requests and rows are accepted again as before', async () => {
    const client = await newTeam(file);
    /** How long until a write is refused, and until it is accepted again. */
    for (const outcome of [limited, '201', limited, '201']) {
      await sleepUntil(
        async () => outcomeOf(await client.post('/tables', { name: 'x', rows: rows(4) })) === outcome,
        `a write is ${outcome}`,
      );
    }
  });

  test('a write larger than the limit needs a window in which nothing was written', async () => {
    const client = await newTeam(file);
    expect(outcomeOf(await client.post('/tables', { name: 'x', rows: rows(1) }))).toBe('201');
    await sleepUntil(
      async () => outcomeOf(await client.post('/tables', { name: 'x', rows: rows(12) })) === '201',
      'it is let in',
    );
  });
});

describe('of bytes and imports', () => {
  const file = useOwnApi({ RATE_LIMIT_BYTES: '10000', RATE_LIMIT_IMPORTS: '2', RATE_LIMIT_WINDOW_MS: '86400000' });
  /** JSON of this many bytes, with one row. */
  const bodyOf = (bytes: number): string => `[{"a":"${'x'.repeat(bytes - 10)}"}]`;

  test('bytes count as they arrive, compressed or not, whatever the outcome of the request', async () => {
    const client = await newTeam(file);
    const table = await createTable(client, [], { a: 'string' });
    const before = leftOf(await client.get(table.path))['bytes'] as number;
    const row = await client.post(table.path, bodyOf(1000));
    expect(row.headers.get('ratelimit-policy')).toBe(
      '"bytes";q=10000;qu="content-bytes";w=86400, "imports";q=2;qu="imports";w=86400',
    );
    const packed = gzipSync(bodyOf(100_000));
    const answers: [Answer, outcome: string, bytes: number][] = [
      [row, '201', 1000],
      [await client.patch(`${table.path}/${row.json.data.rowIDs[0]}`, '{"a":"y"}'), '200', 9],
      [await client.post(table.path, bodyOf(500).slice(1)), '400 request_validation_error', 499],
      [await client.post(table.path, packed, { 'content-encoding': 'gzip' }), '201', packed.length],
      [await client.get(table.path), '200', 0],
    ];
    expect(answers.map(([answer]) => outcomeOf(answer))).toEqual(answers.map(([, outcome]) => outcome));
    let left = before;
    expect(answers.map(([answer]) => leftOf(answer)['bytes'])).toEqual(answers.map(([, , bytes]) => (left -= bytes)));
  });

  test('a body of more bytes than are left is refused as a whole, also the bytes of a file', async () => {
    const client = await newTeam(file);
    const created = await postUpload(client);
    const table = await createTable(client, [], { a: 'string' });
    const refusals = await refusedBy(client.url, 'bytes');
    expect(outcomeOf(await client.post(table.path, bodyOf(8000)))).toBe('201');
    const refused = await client.post(table.path, bodyOf(3000));
    expect([outcomeOf(refused), refused.json.error.message]).toEqual([
      limited,
      expect.stringMatching(/^The team is limited to 10000 bytes in 86400 s/),
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
    expect(await sendBytes(created, 'x'.repeat(3000))).toBe(limited);
    expect(await sendBytes(created, 'x'.repeat(1000))).toBe('200');
    expect(await client.rows(table.id)).toHaveLength(1);
    const { bytes } = leftOf(await client.get(table.path));
    expect(bytes).toBeLessThan(1000);
    expect(await refusedBy(client.url, 'bytes')).toBe(refusals + 2);
    // Without a body there is nothing to count.
    expect(outcomeOf(await client.delete(`/tables/${table.id}`))).toBe('200');
  });

  /** The sizes of the files that are being received. */
  async function receivedSizes(): Promise<number[]> {
    const folder = join(file.api().filesFolder, 'temporary');
    return Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
  }

  test('a body that has begun is accepted to its end, and uses up later bytes', async () => {
    const client = await newTeam(file);
    const created = await postUpload(client);
    expect(
      await sendBytes(
        created,
        new ReadableStream({
          async start(controller) {
            controller.enqueue(Buffer.alloc(1000));
            await sleepUntil(async () => (await receivedSizes()).includes(1000), 'the first bytes have arrived');
            controller.enqueue(Buffer.alloc(1_000_000));
            controller.close();
          },
        }),
      ),
    ).toBe('200');
    const refused = await client.post('/tables?name=x', bodyOf(1000));
    expect(outcomeOf(refused)).toBe(limited);
    // A hundred days' worth has arrived.
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(99 * 86_400);
  });

  test('imports count, whatever their outcome; chunks do not', async () => {
    const client = await newTeam(file);
    const stash = await stashOf(client, { 1: [{ a: 1 }], 2: [{ a: 2 }] });
    const rows = { rows: { $stashID: stash } };
    const outcomes = [
      await client.post('/tables?name=a', rows),
      await client.post('/tables?name=b', { rows: { $stashID: 'none' } }),
      await client.post('/tables?name=c', rows),
      await client.put(`/tables/${unknownTableId}`, rows),
      await client.post(`/tables/${unknownTableId}/rows`, rows.rows),
      await client.put(`/stashes/${stash}/3`, [{ a: 3 }]),
    ];
    expect(outcomes.map(outcomeOf)).toEqual(['201', '400 stash_not_found', limited, limited, limited, '200']);
    expect(outcomes.map((answer) => leftOf(answer)['imports'])).toEqual([1, 0, 0, 0, 0, 0]);
  });
});
