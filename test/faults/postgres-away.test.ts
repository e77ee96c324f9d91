/** Postgres goes away under load and comes back: requests are refused meanwhile, and what was said of them is true. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { Client } from '../support/client.ts';
import { findProblems } from '../support/history.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil, startServer } from '../support/server.ts';
import { CutLine } from './cut-line.ts';
import { deploy, type Deployment } from './deployment.ts';
import { kill, killEverything, postmasterOf, processesOf } from './kill.ts';
import { randomFrom, work, type Mix } from './load.ts';
import { createRecordedTable, findCreationProblems, historyOf, RecordedTable } from './recorded-table.ts';
import { verify } from './verify.ts';

const mix: Mix = { patch: 12, add: 4, delete: 3, head: 1, addBlock: 0.6, addBody: 0.4, addRefused: 0.3, create: 0.3 };
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

function clientsAtWork(
  clients: readonly Client[],
  { tableId, rows, recorder }: Awaited<ReturnType<typeof createRecordedTable>>,
  goesOn: () => boolean,
): Promise<unknown> {
  return Promise.all(Array.from({ length: 12 }, (_, n) => {
    const table = new RecordedTable(`client ${n}`, clients[n % clients.length]!, tableId, recorder);
    return work(table, rows, mix, randomFrom(seed + n), async () => {
      // While they are refused, clients would only heat the machine.
      await sleep(5);
      return goesOn();
    });
  }));
}

/** Has clients work while something is done to Postgres, and checks all that they were told. */
async function survive({ clients, databaseUrl }: Deployment, disturb: (random: () => number) => Promise<void>): Promise<void> {
  process.stderr.write(`SEED=${seed}\n`);
  const created = await createRecordedTable(clients[0]!, 8);
  const { tableId, rows, recorder } = created;
  let goesOn = true;
  const working = clientsAtWork(clients, created, () => goesOn);
  try {
    await disturb(randomFrom(seed));
    // Each process takes writes again, by itself.
    for (const client of clients) {
      const after = new RecordedTable(`after ${client.url}`, client, tableId, recorder);
      await sleepUntil(async () => (await after.add(1)).length === 1, 'writes are taken again', 20_000);
    }
  } finally {
    goesOn = false;
    await working;
  }
  expect(recorder.unexpected).toEqual([]);
  expect(findProblems(await historyOf(recorder, clients.at(-1)!, tableId, rows))).toEqual([]);
  expect(await findCreationProblems(recorder, clients[0]!)).toEqual([]);
  expect(await verify({ DATABASE_URL: databaseUrl })).toMatchObject({ exitCode: 0 });
}

test('all connections of the service are ended', async () => {
  const deployment = await deploy(2);
  closers.push(() => deployment.stop());
  const operator = new pg.Client(deployment.databaseUrl);
  await operator.connect();
  closers.push(() => operator.end());
  let ended = 0;
  await survive(deployment, async (random) => {
    for (let times = 0; times < 15; times += 1) {
      await sleep(100 + random() * 300);
      const { rowCount } = await operator.query(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
      ended += rowCount ?? 0;
    }
  });
  expect(ended).toBeGreaterThan(15);
});

/** Some processes whose Postgres is at the other end of a line. */
async function deployBehindLine(processes: number): Promise<{ deployment: Deployment; line: CutLine }> {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const url = new URL(database.url);
  const line = await CutLine.open(Number(url.port || 5432));
  closers.push(() => line.close());
  url.port = String(line.port);
  const deployment = await deploy(processes, url.href);
  closers.push(() => deployment.stop());
  return { deployment, line };
}

test('the line to Postgres is cut, so that answers to commits are lost', async () => {
  const { deployment, line } = await deployBehindLine(2);
  await survive(deployment, async (random) => {
    for (let times = 0; times < 20; times += 1) {
      await sleep(50 + random() * 300);
      line.cut(random() < 0.5 ? 0 : 200);
    }
  });
});

test('what was on the line when it was cut reaches Postgres late, when nobody else writes', async () => {
  const { deployment, line } = await deployBehindLine(1);
  const client = deployment.clients[0]!;
  const { tableId, rows, recorder } = await createRecordedTable(client, 1);
  const table = new RecordedTable('only', client, tableId, recorder);
  const random = randomFrom(seed);
  for (let times = 0; times < 20; times += 1) {
    const version = await table.read(rows[0]!);
    const patching = table.patch(rows[0]!, version);
    await sleep(random() * 12);
    line.cut(300);
    await patching;
    await sleep(400);
    await table.patch(rows[0]!, await table.read(rows[0]!));
  }
  expect(recorder.unexpected).toEqual([]);
  expect(findProblems(await historyOf(recorder, client, tableId, rows))).toEqual([]);
});

test('Postgres is killed, and started again on another port', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-away-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const start = (): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ folder, log: () => undefined });
  let postgres = await start();
  closers.push(() => postgres.stop());
  const url = new URL(postgres.url);
  const line = await CutLine.open(Number(url.port));
  closers.push(() => line.close());
  url.port = String(line.port);
  const deployment = await deploy(2, url.href);
  closers.push(() => deployment.stop());
  await survive(deployment, async (random) => {
    for (let times = 0; times < 4; times += 1) {
      await sleep(200 + random() * 500);
      await kill([postgres.pid]);
      line.target = null;
      await postgres.stop();
      postgres = await start();
      line.target = Number(new URL(postgres.url).port);
    }
  });
});

test('a service whose own Postgres is killed refuses, ends with an error, and is well after its next start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-away-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  let server = await startServer({ folder });
  closers.push(() => killEverything(server));
  const client = new Client(server.url, await server.token());
  const created = await createRecordedTable(client, 8);
  const { tableId, rows, recorder } = created;
  let goesOn = true;
  const working = clientsAtWork([client], created, () => goesOn);
  await sleep(500);
  const processes = await processesOf(server);
  const exited = once(server.process, 'exit');
  await kill([(await postmasterOf(server))!]);
  const [exitCode] = await exited;
  goesOn = false;
  await working;
  expect(exitCode).toBe(1);
  expect(processes.length).toBeGreaterThan(2);

  server = await startServer({ folder });
  const again = new Client(server.url, client.token);
  expect(recorder.unexpected).toEqual([]);
  expect(findProblems(await historyOf(recorder, again, tableId, rows))).toEqual([]);
  expect(await findCreationProblems(recorder, again)).toEqual([]);
  expect(await server.stop()).toBe(0);
});
