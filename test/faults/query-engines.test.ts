/** Later pages of a query come from the engine that gave the first, whichever process gets the request. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { noteEngine } from '../../src/api/query/engine-addresses.ts';
import { formatEngineContinuation, parseEngineContinuation } from '../../src/api/query/protocol.ts';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { createTable, type MadeTable } from '../support/tables.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let servers: [TestServer, TestServer];
let clients: [Client, Client];
let table: MadeTable;

beforeAll(async () => {
  database = await createDatabase();
  const first = await startServer({ databaseUrl: database.url });
  const token = await first.token();
  servers = [first, await startServer({ databaseUrl: database.url })];
  clients = [new Client(first.url, token), new Client(servers[1].url, token)];
  table = await createTable(
    clients[0],
    Array.from({ length: 10 }, (_, n) => ({ n })),
  );
});

afterAll(async () => {
  await Promise.all((servers ?? []).map((server) => server.stop()));
  await database?.drop();
});

const numbers = ({ json }: Answer): number[] => json.data.map(({ n }: { n: number }) => n);

async function firstPage(client: Client): Promise<string> {
  const answer = await client.get(`${table.path}?sort=-n&limit=4`);
  expect(numbers(answer)).toEqual([9, 8, 7, 6]);
  return answer.json.continuation as string;
}

const pageOf = (client: Client, continuation: string): Promise<Answer> =>
  client.get(`${table.path}?limit=4&continuation=${continuation}`);

test.each([
  [0, 1],
  [1, 0],
] as const)('process %i answers a continuation of process %i', async (giver, asked) => {
  const continuation = await firstPage(clients[giver]!);
  const second = await pageOf(clients[asked]!, continuation);
  expect(numbers(second)).toEqual([5, 4, 3, 2]);
  for (const client of clients) expect(numbers(await pageOf(client, second.json.continuation))).toEqual([1, 0]);
});

test.each([
  ['an unknown engine', null],
  ['an engine that only another machine reaches', { url: 'http://127.0.0.1:1', machine: 'elsewhere' }],
  ['an engine that no longer listens', { url: 'http://127.0.0.1:1', machine: null }],
] as const)('a continuation of %s is refused', async (_name, noted) => {
  const engine = randomUUID();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  if (noted !== null) await noteEngine(pool, { id: engine, secret: 'x', ...noted });
  await pool.end();
  const answer = await pageOf(clients[0], formatEngineContinuation(engine, randomUUID()));
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '400 continuation_expired',
    expect.stringContaining('request the first page again'),
  ]);
});

test('a continuation is refused if another engine has replaced its engine', async () => {
  const another = createServer(
    (request, response) => void request.resume().on('end', () => response.writeHead(403).end()),
  );
  await once(another.listen(0, '127.0.0.1'), 'listening');
  const engine = randomUUID();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  await noteEngine(pool, {
    id: engine,
    secret: 'x',
    machine: null,
    url: `http://127.0.0.1:${(another.address() as AddressInfo).port}`,
  });
  await pool.end();
  expect(outcomeOf(await pageOf(clients[0], formatEngineContinuation(engine, randomUUID())))).toBe(
    '400 continuation_expired',
  );
  another.close();
});

test('a continuation is refused if no process holds it, or its process was killed', async () => {
  const continuation = await firstPage(clients[1]);
  const { engine } = parseEngineContinuation(continuation)!;
  expect(outcomeOf(await pageOf(clients[0], formatEngineContinuation(engine, randomUUID())))).toBe(
    '400 continuation_expired',
  );
  await servers[1].stop('SIGKILL');
  await sleepUntil(async () => {
    const outcome = outcomeOf(await pageOf(clients[0], continuation));
    expect(outcome).toMatch(/^(200|503 service_unavailable|400 continuation_expired)$/);
    return outcome === '400 continuation_expired';
  }, 'it is gone');
});
