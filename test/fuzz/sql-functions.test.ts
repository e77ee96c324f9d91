/**
 * Each function of SQL with hostile arguments: every answer is one that the interface promises, the process that answers SQL goes on within its memory, and
 * queries of others are answered meanwhile. `SEED=...` repeats a run; `SQL=...` asks this SQL alone.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { runTablog } from '../support/tablog.ts';
import { limitMs } from '../support/time-limits.ts';
import { SqlGenerator } from './sql/calls.ts';
import { SqlFuzz } from './sql/fuzz-sql.ts';
import { readSignatures } from './sql/signatures.ts';
import { columns, rows } from './sql/values.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
/** QUERY_MEMORY_MAX and what a process may take besides, which is when the service ends it. */
const memoryMax = (160 + 512) * 2 ** 20;

const closers: (() => Promise<unknown>)[] = [];
let server: TestServer;
let databaseUrl: string;
let neighbour: Client;
let path: string;
let teams = 0;

async function newClient(): Promise<Client> {
  teams += 1;
  const run = async (...args: readonly string[]): Promise<string> => (await runTablog(args, { DATABASE_URL: databaseUrl })).stdout.trim();
  await run('teams', 'create', `team ${teams}`);
  return new Client(server.url, await run('tokens', 'create', '--team', `team ${teams}`));
}

async function newClientWithTable(): Promise<Client> {
  const client = await newClient();
  const { id } = await createTable(client, rows, columns);
  await client.send(`/tables/${id}`, { method: 'PATCH', body: { name: 't' } });
  return client;
}

beforeAll(async () => {
  const database = await createDatabase();
  closers.push(() => database.drop());
  databaseUrl = database.url;
  server = await startServer({ databaseUrl, environment: { DISK_FREE_MIN: '0', QUERY_TIMEOUT_MS: '2000' } });
  closers.push(() => server.stop());
  neighbour = await newClient();
  ({ path } = await createTable(neighbour, [{ n: 1 }, { n: 2 }]));
});

afterAll(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

async function askNeighbour(): Promise<void> {
  expect(outcomeOf(await neighbour.get(`${path}?filter={"column":"n","op":"gte","value":2}`))).toBe('200');
}

async function start(): Promise<{ fuzz: SqlFuzz; names: readonly string[] }> {
  const signatures = await readSignatures();
  const generator = new SqlGenerator(new Random(seed), signatures);
  return { fuzz: new SqlFuzz({ service: server.process.pid!, generator, newClient: newClientWithTable, askNeighbour, memoryMax }), names: [...signatures.keys()] };
}

test('no call of a function harms the process', async () => {
  process.stderr.write(`SEED=${seed}\n`);
  const { fuzz, names } = await start();
  if (process.env['SQL'] !== undefined) {
    await fuzz.ask(process.env['SQL']);
  } else {
    const endsAt = performance.now() + scale.sqlFunctionsMs;
    await fuzz.round(names, Infinity);
    while (performance.now() < endsAt) await fuzz.round(names, endsAt);
  }
  process.stderr.write(`${fuzz.asked} queries of ${names.length} functions; peak ${Math.round(fuzz.memoryPeak / 2 ** 20)} MiB; ${JSON.stringify(Object.fromEntries(fuzz.outcomes))}\n`);
  await askNeighbour();
  expect(fuzz.findings.join('\n\n')).toBe('');
}, limitMs(scale.sqlFunctionsMs + 600_000));
