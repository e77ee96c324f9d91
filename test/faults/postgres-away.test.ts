/** Postgres goes away under load and comes back. Meanwhile requests are refused, and all answers are true. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/storage/embedded/embedded-postgres.ts';
import { scale } from '../scale.ts';
import { Client } from '../support/client.ts';
import { findProblems } from '../support/history.ts';
import { createDatabase } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { CutLine } from './cut-line.ts';
import { deploy, type FaultDeployment } from './deployment.ts';
import { killProcesses, killEverything, postmasterOf, processesOf } from './kill.ts';
import { randomFrom } from './load.ts';
import { createRecordedTable, findCreationProblems, historyOf, RecordedTable } from './recorded-table.ts';
import { clientsAtWork, seed, survive, type Disturbed } from './survive.ts';
import { verify } from './verify.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

function disturbed({ clients, databaseUrl }: FaultDeployment): Disturbed {
  return { clients, verify: () => verify({ DATABASE_URL: databaseUrl }) };
}

test('nothing is lost when all connections of the service are ended', async () => {
  const deployment = await deploy(2);
  closers.push(() => deployment.stop());
  const operator = new pg.Client(deployment.databaseUrl);
  await operator.connect();
  closers.push(() => operator.end());
  let ended = 0;
  await survive(disturbed(deployment), async (random) => {
    for (let times = 0; times < scale.cuts; times += 1) {
      await sleep(100 + random() * 300);
      const { rowCount } = await operator.query(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
      ended += rowCount ?? 0;
    }
  });
  expect(ended).toBeGreaterThanOrEqual(scale.cuts);
});

/** Some processes that reach their Postgres through a line. */
async function deployBehindLine(processes: number): Promise<{ deployment: FaultDeployment; line: CutLine }> {
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

test('nothing is lost when the line to Postgres is cut, so that answers to commits are lost', async () => {
  const { deployment, line } = await deployBehindLine(2);
  await survive(disturbed(deployment), async (random) => {
    for (let times = 0; times < scale.cuts; times += 1) {
      await sleep(50 + random() * 300);
      line.cut(random() < 0.5 ? 0 : 200);
    }
  });
});

test('nothing is lost when statements in flight reach Postgres after the line was cut', async () => {
  const { deployment, line } = await deployBehindLine(1);
  const client = deployment.clients[0]!;
  const { tableId, rows, recorder } = await createRecordedTable(client, 1);
  const table = new RecordedTable('only', client, tableId, recorder);
  const random = randomFrom(seed);
  for (let times = 0; times < scale.cuts; times += 1) {
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

test('nothing is lost when Postgres is killed and starts again on another port', async () => {
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
  await survive(disturbed(deployment), async (random) => {
    for (let times = 0; times < scale.postgresKills; times += 1) {
      await sleep(200 + random() * 500);
      await killProcesses([postgres.pid]);
      line.target = null;
      await postgres.stop();
      postgres = await start();
      line.target = Number(new URL(postgres.url).port);
    }
  });
});

test('a service whose own Postgres is killed refuses requests, ends with an error, and works after its next start', async () => {
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
  await killProcesses([(await postmasterOf(server))!]);
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
