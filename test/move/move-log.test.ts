/**
 * The log moves to Kafka and back beside a process that serves, and the move is killed on the way. It moves to Kafka with the embedded Postgres
 * of a folder, and back with the same Postgres as DATABASE_URL.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { createTopic } from '../support/kafka/topics.ts';
import { findProblems } from '../support/history.ts';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { freePort, launchServer, sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { outputOf, runTablog } from '../support/tablog.ts';
import { randomFrom, work } from '../faults/load.ts';
import { createRecordedTable, historyOf, RecordedTable } from '../faults/recorded-table.ts';
import { isFull } from '../scale.ts';

/** How often each move is killed before it may end. */
const kills = Number(process.env['KILLS'] ?? (isFull ? 10 : 1));

const closers: (() => Promise<unknown>)[] = [];
let folder: string;
let databaseUrl: string;
let kafka: Readonly<Record<string, string>>;
let port: number;
let server: TestServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-test-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const [topic, postgres] = await Promise.all([createTopic(), startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => undefined, settings: { fsync: 'off' } })]);
  closers.push(() => topic.drop(), () => postgres.stop());
  [databaseUrl, kafka] = [postgres.url, topic.environment];
  port = await freePort();
  server = await startServer({ folder, port, environment: { ASYNC_WAIT_MS: '0' } });
});

afterAll(async () => {
  await server?.stop('SIGKILL');
  for (const closer of closers.toReversed()) await closer();
});

test('a log moves to Kafka and back while clients write, and they notice nothing but a pause', async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  process.stderr.write(`SEED=${seed}\n`);
  const random = randomFrom(seed);
  const client = new Client(server.url, await server.token());
  const { tableId, rows, recorder } = await createRecordedTable(client, 8);
  const tables = Array.from({ length: 8 }, (_, n) => new RecordedTable(`client ${n}`, client, tableId, recorder));
  const kept = await client.post('/tables', { name: 'kept', schema: { columns: [{ id: 'name', type: 'string' }] }, rows: [{ name: 'a' }] });
  const path = `/tables/${kept.json.data.tableID}/rows`;
  const add = (): ReturnType<Client['send']> => client.send(path, { method: 'POST', body: [{ name: 'once' }], headers: { 'Idempotency-Key': 'once' } });
  const added = await add();
  expect(added.status).toBe(201);
  const { status, json: { data: { jobID } } } = await client.post(path, [{ name: 'by a job' }], { 'x-service-asynchronous': 'true' });
  expect(status).toBe(202);
  const job = (await untilDone(client, jobID)).text;
  expect(job).toContain('"succeeded"');

  for (const to of ['kafka', 'postgres'] as const) {
    const settings = { DATA_DIR: folder, DATABASE_URL: to === 'kafka' ? '' : databaseUrl };
    const start = { port, folder, environment: to === 'kafka' ? kafka : { DATABASE_URL: databaseUrl } };
    const before = await client.get(path);
    const { continuation } = (await client.get(`${path}?limit=1`)).json;
    const furtherPage = (await client.get(`${path}?continuation=${continuation}`)).text;
    const serving = server;
    const isServing = (): boolean => serving.process.exitCode === null && serving.process.signalCode === null;
    const load = Promise.all(tables.map((table) => work(table, rows, { patch: 10, add: 2, delete: 1, head: 2 }, random, isServing)));
    for (let kill = 0; kill < kills; kill += 1) {
      const killed = runTablog(['log', 'move', '--to', to], { ...settings, ...kafka });
      await sleep(random() * 3000);
      killed.child.kill('SIGKILL');
      await killed;
    }
    const moved = await runTablog(['log', 'move', '--to', to, '--json'], { ...settings, ...kafka });
    // On a fast machine the move may have ended before it was killed.
    if (moved.code !== 0) expect(moved.stderr).toContain(`the log is in ${to === 'kafka' ? 'Kafka' : 'Postgres'} already`);
    process.stderr.write(moved.stdout);
    await sleepUntil(() => !isServing(), 'the process that serves ends', 30_000);
    await load;
    expect(serving.process.exitCode).toBe(1);
    expect(serving.output()).toContain(to === 'kafka' ? 'the log is in Kafka: set KAFKA_BROKERS' : 'the log is in Postgres: remove the settings');

    // Its refusals are no failures.
    expect(serving.output()).not.toContain('"level":50');
    const late = await launchServer({ folder, environment: to === 'kafka' ? {} : kafka });
    server = await startServer(start);
    await sleepUntil(() => late.process.exitCode !== null, 'a process with the former settings ends', 60_000);
    expect(late.output()).toContain(`the log is in ${to === 'kafka' ? 'Kafka' : 'Postgres'}`);

    const after = await client.get(path);
    expect([after.text, after.version]).toEqual([before.text, before.version]);
    expect((await client.get(`/jobs/${jobID}`)).text).toBe(job);
    expect((await client.get(`${path}?continuation=${continuation}`)).text).toBe(furtherPage);
    const again = await add();
    expect([again.status, again.text, again.version]).toEqual([added.status, added.text, added.version]);
    const [row] = added.json.data.rowIDs;
    const read = await client.get(`${path}/${row}`);
    const patched = await client.send(`${path}/${row}`, { method: 'PATCH', body: { name: to }, headers: { 'If-Match': read.headers.get('etag')! } });
    expect(patched.status).toBe(200);
    const until = performance.now() + 1000;
    await Promise.all(tables.map((table) => work(table, rows, { patch: 10, add: 2, delete: 1, head: 2 }, random, () => performance.now() < until)));
  }

  expect(recorder.unexpected).toEqual([]);
  expect(findProblems(await historyOf(recorder, client, tableId, rows))).toEqual([]);
  await server.stop();
  expect(JSON.parse(await outputOf(['verify', '--json'], { DATABASE_URL: databaseUrl }))).toMatchObject({ equal: true, differences: [] });
}, isFull ? 1_200_000 : 240_000);
