/**
 * Each function of SQL with hostile arguments: every answer is one that the interface promises, the process that
 * answers SQL goes on within its memory, and queries of others are answered meanwhile. `SEED=...` repeats a run;
 * `SQL=...` asks this SQL alone, a query in each line.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isFull, scale } from '../scale.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { findQueryProcess } from '../support/query-processes.ts';
import { Random } from '../support/random.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { runTablog } from '../support/tablog.ts';
import { limitMs } from '../support/time-limits.ts';
import { SqlGenerator } from './sql/calls.ts';
import { SqlFuzz } from './sql/fuzz-sql.ts';
import { readSignatures, type Signature } from './sql/signatures.ts';
import { hostileColumns, hostileRows } from './sql/values.ts';

/** The short run always asks the same: what only another seed finds fails no change that has nothing to do with it. */
const seed = Number(process.env['SEED'] ?? (isFull ? Date.now() % 1_000_000 : 2));
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
  const run = async (...args: readonly string[]): Promise<string> =>
    (await runTablog(args, { DATABASE_URL: databaseUrl })).stdout.trim();
  await run('teams', 'create', `team ${teams}`);
  return new Client(server.url, await run('tokens', 'create', '--team', `team ${teams}`));
}

async function newClientWithTable(): Promise<Client> {
  const client = await newClient();
  const { id } = await createTable(client, hostileRows, hostileColumns);
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

async function start(memoryBound: number): Promise<{ fuzz: SqlFuzz; names: readonly string[] }> {
  const signatures = await readSignatures();
  const generator = new SqlGenerator(new Random(seed), signatures);
  return {
    fuzz: new SqlFuzz({
      service: server.process.pid!,
      output: () => server.output(),
      generator,
      newClient: newClientWithTable,
      askNeighbour,
      memoryMax: memoryBound,
    }),
    names: [...signatures.keys()],
  };
}

test('the generator makes a call that is known to end the process', () => {
  const planted: Signature = {
    name: 'reservoir_quantile',
    kind: 'aggregate',
    parameters: ['ANY', 'DOUBLE', 'INTEGER'],
    further: null,
  };
  const generator = new SqlGenerator(new Random(seed), new Map([[planted.name, [planted]]]));
  const calls = Array.from({ length: 5000 }, () => generator.select(planted.name));
  expect(calls).toContainEqual(expect.stringMatching(/reservoir_quantile\(.*, (2000000000|2147483647)\)/));
});

test('the end of the process, and too much memory, are findings', async () => {
  const { fuzz } = await start(1);
  await fuzz.ask('SELECT 1');
  const id = (await findQueryProcess(server.process.pid!, 'sql'))!;
  const asked = fuzz.ask('SELECT count(*) FROM range(1000000000000)');
  process.kill(id, 'SIGSEGV');
  await asked;
  expect(fuzz.findings).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^the process took \d+ bytes\n {2}SELECT 1/),
      expect.stringMatching(/^the process ended\n {2}SELECT count/),
    ]),
  );
});

test(
  'no call of a function harms the process',
  async () => {
    process.stderr.write(`SEED=${seed}\n`);
    const { fuzz, names } = await start(memoryMax);
    if (process.env['SQL'] !== undefined) {
      for (const sql of process.env['SQL'].split('\n')) await fuzz.ask(sql);
    } else {
      const endsAt = performance.now() + scale.sqlFunctionsMs;
      await fuzz.round(names, Infinity);
      while (performance.now() < endsAt) await fuzz.round(names, endsAt);
    }
    for (const line of server
      .output()
      .split('\n')
      .filter((text) => text.includes('"level":40')))
      process.stderr.write(`${line.slice(0, 500)}\n`);
    process.stderr.write(
      `${fuzz.asked} queries of ${names.length} functions; peak ${Math.round(fuzz.memoryPeak / 2 ** 20)} MiB; ${JSON.stringify(Object.fromEntries(fuzz.outcomes))}\n`,
    );
    await askNeighbour();
    expect(fuzz.findings.join('\n\n')).toBe('');
  },
  limitMs(scale.sqlFunctionsMs + 600_000),
);
