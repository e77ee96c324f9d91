/**
 * Backups are restored to either kind of log, wherever they come from: all reads as it did, with its versions, and
 * versions that are lost do not come again. At full scale with more rows, and each command is killed at random points
 * before it may end.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isFull } from '../scale.ts';
import { Client } from '../support/client.ts';
import { createLog, type DeploymentKind } from '../support/deployment-kind.ts';
import { untilDone } from '../support/jobs.ts';
import { createDatabase } from '../support/postgres.ts';
import { chooseSeed, Random } from '../support/random.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { createTable, type MadeTable } from '../support/tables.ts';
import { outputOf, runTablog } from '../support/tablog.ts';
import { limitMs } from '../support/time-limits.ts';
import { untilRestored } from '../support/until-restored.ts';
import { upload } from '../support/uploads.ts';

type Environment = Readonly<Record<string, string>>;

/** How often each of the two backups and three restores is killed: 20 times in all. */
const kills = Number(process.env['KILLS'] ?? (isFull ? 4 : 0));
const rows = kills > 0 ? 20_000 : 40;
const seed = chooseSeed();
const random = new Random(seed);

const closers: (() => Promise<unknown>)[] = [];
const tables: MadeTable[] = [];
let folder: string;
let backups: string;
let keyFile: string;
let source: Environment;
let server: TestServer;
let client: Client;
let job: string;
let file: string;
/** How long the last backup took that was not killed, in milliseconds: restores take longer. */
let takeMs = 0;
let killed = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-restore-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  [backups, keyFile] = [join(folder, 'backups'), join(folder, 'passphrase')];
  await writeFile(keyFile, 'correct horse battery staple');
  source = await emptyPlace('source', 'kafka');
  server = await startServer({ folder: source['DATA_DIR']!, environment: source });
  client = new Client(server.url, await server.token());
});

afterAll(async () => {
  await server?.stop('SIGKILL');
  for (const closer of closers.toReversed()) await closer();
});

/** An empty database and log, and a folder for files. Nothing changes there by itself. */
async function emptyPlace(name: string, log: DeploymentKind): Promise<Environment> {
  const [database, home] = await Promise.all([createDatabase(), createLog(log)]);
  closers.push(
    () => database.drop(),
    () => home.drop(),
  );
  return {
    MAINTENANCE_INTERVAL_MS: String(2 ** 31 - 1),
    ASYNC_WAIT_MS: '0',
    ...home.environment,
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, name),
  };
}

async function take(
  environment: Environment,
): Promise<{ readonly id: string; readonly stored: { readonly packs: number } }> {
  const began = performance.now();
  const taken = JSON.parse(await outputOf(['backup', backups, '--key-file', keyFile, '--json'], environment));
  takeMs = performance.now() - began;
  return taken;
}

/** Runs a command for a random time, and kills it. Resolves to whether it had ended well before. */
async function kill(args: readonly string[], environment: Environment): Promise<boolean> {
  const running = runTablog(args, environment);
  await Promise.race([running, sleep(random.between(300, takeMs))]);
  running.child.kill('SIGKILL');
  const { code } = await running;
  if (code === null) killed += 1;
  return code === 0;
}

/** Takes backups that are killed, beside `work`. */
async function takeKilled(environment: Environment, work: () => Promise<void>): Promise<void> {
  for (let n = 0; n < kills; n += 1) {
    const taking = kill(['backup', backups, '--key-file', keyFile], environment);
    await work();
    await taking;
  }
}

async function write(): Promise<void> {
  const table = await createTable(
    client,
    Array.from({ length: rows }, (_, n) => ({ n, text: `row ${n}` })),
  );
  tables.push(table);
  const [first, second] = table.rowIds;
  expect((await client.send(`${table.path}/${first}`, { method: 'PATCH', body: { text: 'patched' } })).status).toBe(
    200,
  );
  expect((await client.send(`${table.path}/${second}`, { method: 'DELETE' })).status).toBe(200);
  const {
    json: {
      data: { jobID },
    },
  } = await client.post(table.path, [{ n: 40 }], { 'x-service-asynchronous': 'true' });
  await untilDone(client, jobID);
  job = jobID;
  file = new URL((await upload(client, Buffer.alloc(10_000, table.id))).url).pathname;
}

/** All that can be read, with its ETags, and the answer to a request that is repeated. */
async function read({ url }: TestServer): Promise<string[]> {
  const reader = new Client(url, client.token);
  const paths = tables.flatMap(({ id, path, rowIds }) => [
    `/tables/${id}`,
    path,
    ...rowIds.slice(0, 3).map((row) => `${path}/${row}`),
  ]);
  // Sent anew only the first time.
  const once = await reader.send(tables[0]!.path, {
    method: 'POST',
    body: [{ n: -1 }],
    headers: { 'Idempotency-Key': 'once' },
  });
  const lines = [`once: ${once.status} ${once.version} ${once.text}`, await (await fetch(`${url}${file}`)).text()];
  for (const path of ['/tables', '/jobs', `/jobs/${job}`, '/uploads', ...paths]) {
    const { status, headers, text } = await reader.get(path);
    lines.push(`${path}: ${status} ${headers.get('etag')} ${text.replaceAll(url, '')}`);
  }
  return lines;
}

async function restore(set: string, place: Environment): Promise<void> {
  const args = ['restore', backups, '--set', set, '--key-file', keyFile];
  for (let n = 0; n < kills; n += 1) if (await kill(args, place)) return;
  if (kills === 0) await outputOf(args, place);
  else await untilRestored(args, place);
}

/** What `work` resolves to while a service runs there. */
async function serve<T>(place: Environment, work: (restored: TestServer) => Promise<T>): Promise<T> {
  const restored = await startServer({ folder: place['DATA_DIR']!, environment: place });
  try {
    return await work(restored);
  } finally {
    await restored.stop();
  }
}

async function expectVerified(place: Environment): Promise<void> {
  expect(JSON.parse(await outputOf(['verify', '--json'], place))).toMatchObject({ equal: true, differences: [] });
}

test(
  'a log in Kafka is backed up with its records, restored to another topic and to Postgres, and from there to Kafka',
  async () => {
    await write();
    const first = await take(source);
    await takeKilled(source, () => createTable(client, [{ name: 'beside a backup' }]).then(() => undefined));
    await write();
    const wanted = await read(server);
    const second = await take(source);
    const verified = JSON.parse(await outputOf(['backup', 'verify', backups, second.id, '--json'], {}));
    expect(verified).toMatchObject({ problems: [] });
    expect(verified.records).toBeGreaterThan(20);
    expect(second.stored.packs).toBeLessThan(verified.packs);
    const lost = await createTable(client, [{ name: 'written after the backup' }]);
    expect(await server.stop()).toBe(0);

    /** Resolves to what is read there, with a table that is made. */
    const expectRestored = async (restored: TestServer): Promise<string[]> => {
      tables.splice(2);
      expect(await read(restored)).toEqual(wanted);
      const reader = new Client(restored.url, client.token);
      expect((await reader.get(`/tables/${lost.id}`)).status).toBe(404);
      const made = await createTable(reader, [{ name: 'written after the restore' }]);
      expect(made.version).toBeGreaterThan(lost.version);
      tables.push(made);
      return read(restored);
    };
    const elsewhere = await emptyPlace('kafka', 'kafka');
    await restore(second.id, elsewhere);
    await serve(elsewhere, expectRestored);
    await expectVerified(elsewhere);

    const postgres = await emptyPlace('postgres', 'postgres');
    await restore(second.id, postgres);
    const there = await serve(postgres, expectRestored);
    await takeKilled(postgres, async () => undefined);
    const third = await take(postgres);
    const back = await emptyPlace('back', 'kafka');
    await restore(third.id, back);
    expect(await serve(back, read)).toEqual(there);
    process.stderr.write(`${killed} backups and restores were killed before their end\n`);
    expect(killed).toBeGreaterThanOrEqual(kills);
    if (!isFull) return;

    for (const place of [postgres, back]) await expectVerified(place);
    // In its own topic nothing is lost but the list of the jobs since, which no log has. The second file was uploaded
    // after this set.
    tables.splice(2, 1, lost);
    const beside = { ...source, DATABASE_URL: (await emptyPlace('beside', 'postgres'))['DATABASE_URL']! };
    await restore(first.id, beside);
    const withoutList = (lines: readonly string[]): string[] => lines.filter((line) => !line.startsWith('/jobs: '));
    expect(withoutList(await serve(beside, read))).toEqual(withoutList(await serve(source, read)));
    await expectVerified(beside);
  },
  limitMs(kills > 0 ? 1_200_000 : 240_000),
);

test('a set without records is not restored where its log is not, nor is any set beside another log', async () => {
  const { id } = JSON.parse(await outputOf(['backup', backups, '--key-file', keyFile, '--no-log', '--json'], source));
  const args = ['restore', backups, '--set', id, '--key-file', keyFile];
  const empty = await emptyPlace('empty', 'kafka');
  expect(await runTablog(args, empty)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('of the log in Kafka ends at 0'),
  });
  if (!isFull) return;

  expect(await runTablog(args, await emptyPlace('no-records', 'postgres'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('taken without the records of its log'),
  });
  await outputOf(args, {
    ...source,
    DATABASE_URL: (await emptyPlace('beside-without-records', 'postgres'))['DATABASE_URL']!,
  });
  await (await startServer({ folder: empty['DATA_DIR']!, environment: empty })).stop();
  const [first] = JSON.parse(await outputOf(['backup', 'list', backups, '--json'], {}));
  const other = await runTablog(['restore', backups, '--set', first.id, '--key-file', keyFile], {
    ...empty,
    DATABASE_URL: (await emptyPlace('other', 'postgres'))['DATABASE_URL']!,
  });
  expect(other).toMatchObject({ code: 1, stderr: expect.stringMatching(/the log is|is no copy of this log/) });
});
