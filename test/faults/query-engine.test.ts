/**
 * The query process for filters, sorts, groups and exports dies, or has no space. Queries are repeated, or refused
 * because they need too much.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { createDatabase } from '../support/postgres.ts';
import { findQueryProcess } from '../support/query-processes.ts';
import { sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { createTable, type MadeTable } from '../support/tables.ts';

const run = promisify(execFile);
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

async function start(
  environment: Readonly<Record<string, string>> = {},
): Promise<{ server: TestServer; client: Client; databaseUrl: string }> {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const server = await startServer({ databaseUrl: database.url, environment });
  closers.push(() => server.stop());
  return { server, client: new Client(server.url, await server.token()), databaseUrl: database.url };
}

const engineOf = ({ process: { pid } }: TestServer): Promise<number | null> => findQueryProcess(pid!, 'queries');

/** The files of copies. */
async function copiesOf({ folder }: TestServer): Promise<string[]> {
  const names = await readdir(join(folder, 'queries'), { recursive: true }).catch(() => []);
  return names.filter((name) => name.endsWith('.duckdb'));
}

const count = (client: Client, { path }: Pick<MadeTable, 'path'>): Promise<Answer> =>
  client.get(`${path}?filter={"and":[]}&count=exact&limit=1`);
const rowsOf = (n: number): object[] =>
  Array.from({ length: n }, (_, at) => ({ n: at, text: `the text of the row ${at}` }));

test('queries that are running when their process is killed are answered by the next one', async () => {
  const { server, client } = await start();
  const table = await createTable(client, rowsOf(10_000));
  expect((await count(client, table)).headers.get('tablog-count')).toBe('10000');
  const first = await engineOf(server);

  const answers: Promise<Answer>[] = [];
  for (let n = 0; n < 20; n += 1) answers.push(count(client, table));
  process.kill(first!, 'SIGKILL');
  for (const answer of await Promise.all(answers)) expect(outcomeOf(answer)).toBe('200');
  await client.post(table.path, [{ n: -1 }]);
  expect((await count(client, table)).headers.get('tablog-count')).toBe('10001');
  expect(await engineOf(server)).not.toBe(first);

  // It ends with the service, although nothing can notify it then.
  const second = (await engineOf(server))!;
  const samples = parseMetrics(await (await fetch(`${server.url}/metrics`)).text());
  const values = ['engine_starts', 'copies', 'fills'].map((name) => sumOf(samples, `tablog_query_${name}`));
  expect([...values, sumOf(samples, 'tablog_query_engine_resident_bytes')! > 2 ** 20]).toEqual([2, 1, 0, true]);
  await server.stop('SIGKILL');
  await sleepUntil(
    async () => (await readFile(`/proc/${second}/stat`, 'utf8').catch(() => ') Z')).includes(') Z'),
    'the engine is gone',
  );
});

test('a killed fill, and files of other processes, leave nothing behind', async () => {
  const { server, client, databaseUrl } = await start();
  const table = await createTable(client, rowsOf(10_000));
  for (let n = 0; n < 5; n += 1) await client.post(table.path, rowsOf(10_000));
  await count(client, await createTable(client, [{ n: 1 }]));
  const filling = count(client, table);
  await sleepUntil(async () => (await copiesOf(server)).length > 1, 'a copy is begun');
  process.kill((await engineOf(server))!, 'SIGKILL');
  expect(outcomeOf(await filling)).toBe('200');
  expect((await count(client, table)).headers.get('tablog-count')).toBe('60000');
  expect(await copiesOf(server)).toHaveLength(1);
  await server.stop();

  const folder = join(server.folder, 'queries');
  const [left, used] = [join(folder, 'of a process that was killed'), join(folder, 'of another process')];
  for (const one of [left, used]) {
    await mkdir(one, { recursive: true });
    await writeFile(join(one, 'copy.duckdb'), 'of another version');
  }
  await utimes(left, 0, 0);
  const second = await startServer({ databaseUrl, folder: server.folder });
  closers.push(() => second.stop());
  expect(await readdir(folder)).toEqual(['of another process']);
});

test('copies stay within their limit: the least recently used ones make room', async () => {
  const { server, client } = await start({ QUERY_DISK_MAX: '2MiB' });
  const tables = await Promise.all(Array.from({ length: 8 }, () => createTable(client, rowsOf(10_000))));
  for (const _round of [1, 2]) {
    for (const table of tables) {
      const answer = await count(client, table);
      expect([answer.headers.get('tablog-count'), answer.headers.get('tablog-cache')]).toEqual(['10000', 'cold']);
      expect((await count(client, table)).headers.get('tablog-cache')).toBe('warm');
    }
  }
  // A continuation must make room too.
  const { continuation } = (await count(client, tables[0]!)).json;
  for (const table of tables.slice(1)) await count(client, table);
  expect(outcomeOf(await client.get(`${tables[0]!.path}?continuation=${continuation}`))).toBe(
    '400 continuation_expired',
  );
  const { stdout } = await run('du', ['-sb', join(server.folder, 'queries')]);
  expect(Number.parseInt(stdout, 10)).toBeLessThan(4 * 2 ** 20);
  const large = await createTable(client, rowsOf(10_000));
  for (let n = 0; n < 16; n += 1) await client.post(large.path, rowsOf(10_000));
  const refused = await count(client, large);
  expect([outcomeOf(refused), refused.json.error.message]).toEqual([
    '400 limit_exceeded',
    expect.stringMatching(/^The table has \d+ bytes, but queries support tables of at most 1572864 bytes\.$/),
  ]);
});

test('rows added to a copy stay in memory only until they have some MiB', async () => {
  const { server, client } = await start();
  const table = await createTable(client, [{ text: 'the first' }]);
  const sizeAfter = async (texts: number): Promise<number> => {
    for (let n = 0; n < texts; n += 1)
      expect(
        (
          await client.post(
            table.path,
            Array.from({ length: 10 }, () => ({ text: randomBytes(15_000).toString('hex') })),
          )
        ).status,
      ).toBe(201);
    await count(client, table);
    const [copy] = await copiesOf(server);
    return (await stat(join(server.folder, 'queries', copy!))).size;
  };
  const sizes = [await sizeAfter(0), await sizeAfter(10), await sizeAfter(50)];
  expect(sizes[1]).toBe(sizes[0]);
  expect(sizes[2]).toBeGreaterThan(8 * 2 ** 20);
  // Until then they take space, too.
  const samples = parseMetrics(await (await fetch(`${server.url}/metrics`)).text());
  expect(sumOf(samples, 'tablog_query_copies_bytes')).toBe(sizes[2]);
  expect(await sizeAfter(10)).toBe(sizes[2]);
  const after = parseMetrics(await (await fetch(`${server.url}/metrics`)).text());
  expect(sumOf(after, 'tablog_query_copies_bytes')).toBeGreaterThan(sizes[2]! + 2 ** 20);
});

test('queries without space on the disk are answered 503', async () => {
  const { server, client } = await start();
  const tables = [await createTable(client, rowsOf(10_000)), await createTable(client, rowsOf(10_000))];
  expect((await count(client, tables[0]!)).status).toBe(200);
  const engine = await engineOf(server);
  await run('prlimit', [`--pid=${engine}`, '--fsize=10000:']);
  expect(outcomeOf(await count(client, tables[1]!))).toBe('503 service_unavailable');
  await run('prlimit', [`--pid=${engine}`, '--fsize=unlimited:']);
  for (const table of tables) expect((await count(client, table)).headers.get('tablog-count')).toBe('10000');
  expect(await engineOf(server)).toBe(engine);
});

test('the fill of a copy runs to its end, even if nobody waits any more', async () => {
  const { server, client } = await start();
  const table = await createTable(client, rowsOf(10_000));
  // More rows than are copied in one turn.
  for (let n = 0; n < 11; n += 1) await client.post(table.path, rowsOf(10_000));
  const gone = new AbortController();
  const left = fetch(`${client.url}${table.path}?filter={"and":[]}&count=exact&limit=1`, {
    headers: { authorization: `Bearer ${client.token}` },
    signal: gone.signal,
  });
  await sleepUntil(async () => (await copiesOf(server)).length > 0, 'the copy is begun');
  gone.abort();
  await left.catch(() => undefined);
  const answer = await count(client, table);
  expect([answer.headers.get('tablog-count'), answer.headers.get('tablog-cache')]).toEqual(['120000', 'warm']);
});

test('an export that nobody reads gives way to other tables: it breaks off, and does not look complete', async () => {
  const { client } = await start({ QUERY_DISK_MAX: '160MiB', DISK_FREE_MIN: '0' });
  // More than the buffers of all connections on the way, and it cannot be compressed. A copy has the texts twice.
  const make = async (): Promise<MadeTable> => {
    const rows = (): object[] => Array.from({ length: 100 }, () => ({ text: randomBytes(75_000).toString('base64') }));
    const table = await createTable(client, rows());
    for (let n = 0; n < 4; n += 1) await client.post(table.path, rows());
    return table;
  };
  const [table, other] = [await make(), await make()];
  const response = await fetch(`${client.url}/tables/${table.id}/export?format=ndjson`, {
    headers: { 'authorization': `Bearer ${client.token}`, 'accept-encoding': 'identity' },
  });
  expect(response.status).toBe(200);
  expect((await count(client, other)).headers.get('tablog-count')).toBe('500');
  await expect(response.text()).rejects.toThrow('terminated');
  expect((await count(client, table)).headers.get('tablog-cache')).toBe('cold');
});

test('exports that sort reserve space before they write: together with the copies they stay within the limit, and are refused if there is none', async () => {
  const { server, client } = await start({ QUERY_DISK_MAX: '90MiB', DISK_FREE_MIN: '0' });
  // Enough rows that the engine writes them to the file while it sorts. They cannot be compressed.
  const rows = (): object[] =>
    Array.from({ length: 10_000 }, (_, n) => ({ n, text: randomBytes(75).toString('base64') }));
  const { id, path } = await createTable(client, rows());
  for (let n = 0; n < 12; n += 1) await client.post(path, rows());
  await count(client, { path });
  const folder = join(server.folder, 'queries');
  let most = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const names = await readdir(folder, { recursive: true });
      const sizes = await Promise.all(
        names.map((name) =>
          stat(join(folder, name)).then(
            (found) => (found.isFile() ? found.size : 0),
            () => 0,
          ),
        ),
      );
      most = Math.max(
        most,
        sizes.reduce((sum, size) => sum + size, 0),
      );
    }
  })();
  const ask = async (format: string): Promise<string> => {
    const response = await fetch(`${client.url}/tables/${id}/export?format=${format}&sort=-text`, {
      headers: { 'authorization': `Bearer ${client.token}`, 'accept-encoding': 'identity' },
    });
    const text = await response.text().catch(() => 'broken');
    if (response.status !== 200) return `${response.status} ${JSON.parse(text).error.type}`;
    return text === 'broken' ? text : format === 'ndjson' ? `${text.split('\n').length - 1} rows` : 'a file';
  };
  const answers = await Promise.all(['ndjson', 'ndjson', 'ndjson', 'ndjson', 'parquet', 'ndjson'].map(ask));
  isOver = true;
  await watching;
  expect(most).toBeLessThan(90 * 2 ** 20);
  for (const answer of answers)
    expect(['130000 rows', 'a file', '503 service_unavailable', 'broken']).toContain(answer);
  // The space is released.
  expect(await ask('ndjson')).toBe('130000 rows');
  expect(await ask('parquet')).toBe('a file');
  expect((await stat(join(folder, (await copiesOf(server))[0]!))).size).toBeLessThan(50 * 2 ** 20);
});
