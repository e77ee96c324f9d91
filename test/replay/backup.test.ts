/** Backups of a log in Postgres, taken beside writes, and restored: all that can be read is as it was. */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { readModelSchema } from '../../projections/models.ts';
import { changeTeam, newTeam } from '../../src/administration/teams.ts';
import { readConfig } from '../../src/app/config.ts';
import { openService, type Service } from '../../src/app/service.ts';
import { FolderStore } from '../../src/operations/backup/folder-store.ts';
import type { Manifest } from '../../src/operations/backup/manifest.ts';
import { takeBackup } from '../../src/operations/backup/take-backup.ts';
import { untilCaughtUp } from '../../src/operations/backup/until-caught-up.ts';
import { partitionOf } from '../../src/log/partition.ts';
import { dumpOf } from '../fixtures/dump.ts';
import { scale } from '../scale.ts';
import { newToken } from '../fixtures/writers/scripted-team.ts';
import { Client } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { chooseSeed, Random } from '../support/random.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { outputOf, runTablog } from '../support/tablog.ts';
import { untilRestored } from '../support/until-restored.ts';
import { upload } from '../support/uploads.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

type Environment = Readonly<Record<string, string>>;

/** What is dumped does not change by itself. */
const atRest = { MAINTENANCE_INTERVAL_MS: String(2 ** 31 - 1) };
const seed = chooseSeed();
const random = new Random(seed);
let generated: GeneratedLog;
let folder: string;
let backups: string;
let keyFile: string;
let source: Environment;
let server: TestServer;
let client: Client;
const readers: Record<string, string> = {};
/** The set in which all is that was dumped. */
let dumped: { readonly set: string; readonly text: string };
const databases: Awaited<ReturnType<typeof createDatabase>>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-backup-'));
  [backups, keyFile] = [join(folder, 'backups'), join(folder, 'passphrase')];
  await writeFile(keyFile, 'correct horse battery staple\n');
  generated = await createGeneratedLog({ seed, teams: 3, eventsOfTeam: 150, blocksOfTeam: 4, rowsOfBlock: 200 });
  source = { ...generated.environment, ...atRest, DATA_DIR: join(folder, 'source') };
  server = await startServer({ folder: source['DATA_DIR']!, environment: source });
  const service = await openService(readConfig(source), pino({ level: 'silent' }), new AbortController().signal);
  try {
    // One without a plan, which may be too small for what is written here.
    const writer = newTeam('writer');
    await changeTeam({ log: service.log, teams: service.queries.teams }, writer);
    for (const { id } of await service.queries.teams.teams()) readers[id] = (await newToken(service, id)).token;
    client = new Client(server.url, readers[writer.teamId]!);
  } finally {
    await service.close();
  }
});

afterAll(async () => {
  await server?.stop();
  await generated?.drop();
  await Promise.all(databases.map((database) => database.drop()));
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/**
 * All that can be read, except the address, that the log was resumed, what maintenance appends, and jobs that fail when
 * their time is over.
 */
async function dump(environment: Environment, url: string): Promise<string> {
  const service = await openService(readConfig(environment), pino({ level: 'silent' }), new AbortController().signal);
  try {
    const text = await dumpOf(url, service, {
      time: 0,
      readers,
      requests: Object.values(readers).flatMap((token) => ['/jobs', '/usage'].map((path) => ({ token, path }))),
    });
    return (
      text
        .replaceAll(url, '')
        // The day may end before the restore does.
        .replaceAll(/"logBytesPerDay":\{[^}]*\}/g, '')
        .split('\n')
        .filter(
          (line) =>
            !/ LogResumed | UploadChecked |^partition \d+: |^job .*("running"|did not reach the log in time)/.test(
              line,
            ),
        )
        .join('\n')
    );
  } finally {
    await service.close();
  }
}

/** A client of the team whose partition has the highest number. */
async function writerOfLastPartition(
  service: Service,
): Promise<{ readonly client: Client; readonly partition: number }> {
  const {
    log: { partitions },
    queries: { teams },
  } = service;
  const writer = Array.from({ length: 1000 }, (_, n) => newTeam(`writer ${n}`)).toSorted(
    (a, b) => partitionOf(b.teamId, partitions) - partitionOf(a.teamId, partitions),
  )[0]!;
  await changeTeam({ log: service.log, teams }, writer);
  return {
    client: new Client(server.url, (await newToken(service, writer.teamId)).token),
    partition: partitionOf(writer.teamId, partitions),
  };
}

async function take(): Promise<{
  readonly id: string;
  readonly events: number;
  readonly stored: { readonly packs: number; readonly bytes: number };
}> {
  return JSON.parse(await outputOf(['backup', backups, '--key-file', keyFile, '--json'], source));
}

/** An empty database, and a folder for its files. */
async function emptyPlace(name: string): Promise<Environment> {
  const database = await createDatabase();
  databases.push(database);
  return { ...atRest, DATABASE_URL: database.url, DATA_DIR: join(folder, name) };
}

async function expectVerified(environment: Environment): Promise<void> {
  const verified = JSON.parse(await outputOf(['verify', '--json'], environment));
  expect(verified).toMatchObject({ equal: true, differences: [] });
}

/** Runs a command and kills it after a random time. Resolves to whether it had ended before. */
async function killed(args: readonly string[], environment: Environment, withinMs: number): Promise<boolean> {
  const running = runTablog(args, environment);
  await Promise.race([running, sleep(random.between(300, withinMs))]);
  running.child.kill('SIGKILL');
  return (await running).code === 0;
}

test('a backup that is taken beside writes, killed before it was complete and taken again, is restored as what its log says', async () => {
  const { path } = await createTable(client, [{ name: 'a' }]);
  let writing = true;
  const writes = (async () => {
    for (let n = 0; writing; n += 1)
      expect((await client.post(path, { rows: [{ name: String(n) }] })).status).toBe(201);
  })();
  try {
    for (let n = 0; n < scale.backupKills; n += 1)
      await killed(['backup', backups, '--key-file', keyFile], source, 3000);
    await take();
  } finally {
    writing = false;
    await writes;
  }
  const place = await emptyPlace('beside-writes');
  await outputOf(['restore', backups, '--key-file', keyFile], place);
  await expectVerified(place);
});

test('each partition is copied out of a snapshot of its own, at an offset that the set notes', async () => {
  const service = await openService(readConfig(source), pino({ level: 'silent' }), new AbortController().signal);
  const place = join(folder, 'by-partition');
  const store = await FolderStore.open(place, { make: true });
  try {
    const wrote = await writerOfLastPartition(service);
    const { path } = await createTable(wrote.client, [{ name: 'before' }]);
    const ends = async (): Promise<bigint> => (await service.log.bounds(wrote.partition)).end;
    const [before, during] = [await ends(), { end: 0n }];
    // The first pack is stored while the first snapshot is open.
    const put = store.put.bind(store);
    store.put = async (...given) => {
      if (given[0].startsWith('packs/') && during.end === 0n) {
        expect((await wrote.client.post(path, { rows: [{ name: 'during' }] })).status).toBe(201);
        during.end = await ends();
      }
      await put(...given);
    };
    const { signal } = new AbortController();
    const set = await takeBackup({
      store,
      url: generated.url,
      database: service.database,
      log: service.log,
      withRecords: true,
      passphrase: null,
      withKeys: false,
      files: null,
      full: false,
      behind: false,
      signal,
      onProgress: () => undefined,
      onUnusable: () => undefined,
    });
    expect(during.end).toBeGreaterThan(before);
    expect(BigInt(set.manifest.partitions[wrote.partition]!.next)).toBe(during.end);
  } finally {
    await store.close();
    await service.close();
  }
  const restored = await emptyPlace('by-partition-restored');
  await outputOf(['restore', place, '--unsigned'], restored);
  await expectVerified(restored);
});

test('a second backup stores what is new, and shares the rest with the first', async () => {
  const content = Buffer.alloc(100_000, 'tablog');
  await upload(client, content);
  const job = await client.post(
    '/tables?name=later',
    { rows: [{ a: 1 }], schema: { columns: [{ id: 'a', type: 'number' }] } },
    { 'x-service-asynchronous': 'true' },
  );
  expect([201, 202]).toContain(job.status);
  const first = await take();
  const text = await dump(source, server.url);
  const second = await take();
  dumped = { set: second.id, text };
  // Reading is noted, and maintenance goes on.
  const { problems, set, ...verified } = JSON.parse(
    await outputOf(['backup', 'verify', backups, '--key-file', keyFile, '--json'], {}),
  );
  expect({ problems, set }).toEqual({ problems: [], set: second.id });
  expect(second.stored.packs).toBeLessThan(verified.packs / 2);
  const listed = JSON.parse(await outputOf(['backup', 'list', backups, '--json'], {}));
  expect(listed.slice(-2).map(({ id }: { id: string }) => id)).toEqual([first.id, second.id]);
  expect(listed.at(-1)).toMatchObject({ signed: true, withKeys: true, withLog: true, withFiles: true, files: 1 });
  // Each number means the same, whichever command shows it.
  expect(Object.keys(verified).toSorted()).toEqual(['events', 'files', 'packs', 'rows']);
  expect(listed.at(-1)).toMatchObject(verified);
  expect(second).toMatchObject(verified);
});

test('restored, though killed on the way, all reads as it did, files and jobs too; versions go on above all that were given out', async () => {
  const place = await emptyPlace('restored');
  const restoring = ['restore', backups, '--set', dumped.set, '--key-file', keyFile, '--json'];
  let done = false;
  for (let n = 0; n < scale.backupKills && !done; n += 1) done = await killed(restoring, place, 4000);
  if (!done) await untilRestored(restoring, place);
  const restored = await startServer({ folder: place['DATA_DIR']!, environment: place });
  try {
    expect(await dump(place, restored.url)).toBe(dumped.text);
    const reader = new Client(restored.url, client.token);
    const { id: tableId } = await createTable(client, [{ name: 'lost with the machine' }]);
    expect((await reader.get(`/tables/${tableId}`)).status).toBe(404);
    const before = (await client.get(`/tables/${tableId}`)).headers.get('etag')!;
    const made = await createTable(reader, [{ name: 'new' }]);
    const versionOf = (etag: string): bigint => BigInt(/\d+/.exec(etag)![0]);
    expect(versionOf((await reader.get(`/tables/${made.id}`)).headers.get('etag')!)).toBeGreaterThan(versionOf(before));
  } finally {
    await restored.stop();
  }
  await expectVerified(place);
  const again = await runTablog(restoring, place);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('The database has data of Tablog already') });
});

test('it is restored to an embedded Postgres too', async () => {
  const place = { DATABASE_URL: '', DATA_DIR: join(folder, 'embedded') };
  await outputOf(['restore', backups, '--set', dumped.set, '--key-file', keyFile], place);
  await expectVerified(place);
});

test('a set has every table that no log can give back', async () => {
  const asked = new pg.Client({ connectionString: generated.url });
  await asked.connect();
  try {
    const { rows } = await asked.query<{ name: string }>(
      `select schemaname || '.' || tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const manifest = JSON.parse(await readFile(join(backups, 'sets', `${dumped.set}.json`), 'utf8'));
    const held = [
      ...manifest.tables.map(({ name }: { name: string }) => `${manifest.readModel}.${name}`),
      ...manifest.notes.map(({ schema, name }: { schema: string; name: string }) => `${schema}.${name}`),
    ];
    // The log and the keys are held in forms of their own; engines are noted anew, digests are made anew, and the
    // history is that of the server.
    const others = [
      'tablog_keys.keys',
      'tablog_log.heads',
      'tablog_log.history',
      'tablog_log.records',
      'tablog_queries.engines',
      `${manifest.readModel}.digests`,
    ];
    expect([...held, ...others].toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
  } finally {
    await asked.end();
  }
});

/**
 * Writes a manifest as somebody does who can write to the backups. Resolves to the ID of the set, and the name of its
 * file.
 */
async function writeSet(manifest: {
  readonly takenAt: number;
}): Promise<{ readonly set: string; readonly name: string }> {
  const content = JSON.stringify(manifest);
  const set = `${new Date(manifest.takenAt).toISOString().replace(/[-:.]/g, '')}-${createHash('sha256').update(content).digest('hex').slice(0, 16)}`;
  const name = join(backups, 'sets', `${set}.json`);
  await writeFile(name, content);
  return { set, name };
}

test('a set that was changed, or that is not signed, is not restored unless that is said; none names other tables to be written to', async () => {
  const manifest = JSON.parse(await readFile(join(backups, 'sets', `${dumped.set}.json`), 'utf8'));
  const { signature, ...unsigned } = manifest;
  const elsewhere = manifest.notes.map((copy: object, at: number) => (at === 0 ? { ...copy, schema: 'public' } : copy));
  const place = await emptyPlace('changed');
  const refusals = [
    [{ ...manifest, localKeys: `${manifest.localKeys}0` }, [], 'is not signed with this passphrase'],
    [unsigned, [], 'is not signed'],
    [{ ...manifest, notes: elsewhere }, ['--unsigned'], 'which is not a table of notes'],
    [{ ...manifest, tables: manifest.tables.slice(1) }, ['--unsigned'], 'does not name that table'],
  ] as const;
  for (const [changed, flags, refusal] of refusals) {
    const { set, name } = await writeSet(changed);
    try {
      const restoring = ['restore', backups, '--set', set, '--key-file', keyFile, ...flags];
      expect(await runTablog(restoring, place)).toMatchObject({ code: 1, stderr: expect.stringContaining(refusal) });
    } finally {
      await rm(name);
    }
  }
  expect(signature).toMatchObject({ hmac: expect.any(String) });
  expect(await runTablog(['restore', backups, '--without-keys'], place)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Give --key-file'),
  });
  // From before manifests were signed.
  const { set, name } = await writeSet(formerOf(unsigned));
  try {
    const restoring = ['restore', backups, '--set', set, '--key-file', keyFile];
    expect(await runTablog(restoring, place)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not signed'),
    });
    await outputOf([...restoring, '--unsigned'], place);
    await expectVerified(place);
  } finally {
    await rm(name);
  }
});

/**
 * A manifest in the form from before manifests were signed: the rows of a table were not parted by partitions, and the
 * sizes of packs were not noted.
 */
function formerOf(manifest: Manifest): { readonly takenAt: number } {
  const tables = [...manifest.tables].map(({ name, columns }) => ({
    name,
    columns,
    width: null,
    streams: manifest.partitions.flatMap((partition) =>
      partition.tables.filter((table) => table.name === name).flatMap(({ streams }) => streams),
    ),
  }));
  return {
    ...manifest,
    format: 1,
    tables,
    partitions: manifest.partitions.map(({ tables: _, records, ...rest }) => ({
      ...rest,
      records: records!.map(({ first, pack }) => ({ first, pack })),
    })),
  } as { readonly takenAt: number };
}

test('rows that are not those of the digests are not put in place; the log has them too', async () => {
  const manifest = JSON.parse(await readFile(join(backups, 'sets', `${dumped.set}.json`), 'utf8'));
  const changed = manifest.partitions.findIndex(({ next }: { next: string }) => BigInt(next) > 1n);
  manifest.partitions[changed].digest = manifest.partitions[changed].digest.split('').toReversed().join('');
  const { set, name } = await writeSet(manifest);
  try {
    const place = await emptyPlace('other-rows');
    const restoring = ['restore', backups, '--set', set, '--key-file', keyFile, '--unsigned'];
    expect(await runTablog(restoring, place)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`The restored read model of partition ${changed} has the digest`),
    });
    await outputOf([...restoring, '--without-read-model'], place);
    await expectVerified(place);
  } finally {
    await rm(name);
  }
});

test('a wrong passphrase is refused, and nothing is restored', async () => {
  const other = join(folder, 'other');
  await writeFile(other, 'another passphrase');
  const place = await emptyPlace('refused');
  const refused = await runTablog(['restore', backups, '--key-file', other], place);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('the passphrase is wrong') });
  expect(await runTablog(['restore', backups, '--unsigned', '--key-file', other], place)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The keys cannot be decrypted'),
  });
  expect(await runTablog(['backup', 'verify', backups, '--key-file', other], {})).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('the passphrase is wrong'),
  });
  expect(await runTablog(['backup', backups], source)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--without-keys'),
  });
  expect(await runTablog(['restore', backups, '--without-keys', '--key-file', keyFile], place)).toMatchObject({
    code: 0,
  });
});

test('a set whose manifest is damaged is named, and the next backup goes on from the one before', async () => {
  const id = '99991231T235959999Z-0123456789abcdef';
  const name = join(backups, 'sets', `${id}.json`);
  await writeFile(name, '{}');
  try {
    const listed = JSON.parse(await outputOf(['backup', 'list', backups, '--json'], {}));
    expect(listed.at(-1)).toEqual({ id, problem: `The manifest of set ${id} is damaged.` });
    const { packs } = JSON.parse(await outputOf(['backup', 'verify', backups, dumped.set, '--json'], {}));
    const { code, stdout, stderr } = await runTablog(['backup', backups, '--key-file', keyFile, '--json'], source);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(`The manifest of set ${id} is damaged. This backup does not build on it.`),
    });
    expect(JSON.parse(stdout).stored.packs).toBeLessThan(packs / 2);
  } finally {
    await rm(name);
  }
});

test('removal leaves the kept sets whole; a damaged pack is found, and is not restored; a full backup stores it anew', async () => {
  const verify = ['backup', 'verify', backups, '--key-file', keyFile];
  // Of the backups that were killed.
  await rm(join(backups, 'running'), { recursive: true, force: true });
  const removed = JSON.parse(await outputOf(['backup', 'remove', backups, '--keep', '1', '--json'], source));
  expect(removed.sets.length).toBeGreaterThan(1);
  const listed: { readonly id: string }[] = JSON.parse(await outputOf(['backup', 'list', backups, '--json'], {}));
  expect(listed).toHaveLength(1);
  expect(await runTablog(verify, {})).toMatchObject({ code: 0, stdout: expect.stringContaining('is undamaged') });
  const packs = (await readdir(join(backups, 'packs'), { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const manifest = await readFile(join(backups, 'sets', `${listed[0]!.id}.json`), 'utf8');
  const damaged = random.pick(packs.filter(({ name }) => manifest.includes(name)));
  await truncate(join(damaged.parentPath, damaged.name), 10);
  expect(await runTablog(verify, {})).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`Pack ${damaged.name} is damaged`),
  });
  const place = await emptyPlace('damaged');
  expect(await runTablog(['restore', backups, '--key-file', keyFile], place)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is damaged'),
  });
  const stored = async (...more: string[]): Promise<number> => {
    return JSON.parse(await outputOf(['backup', backups, '--key-file', keyFile, '--json', ...more], source)).stored
      .packs;
  };
  expect(await stored()).toBeLessThan(await stored('--full'));
  expect(await runTablog(verify, {})).toMatchObject({ code: 0, stdout: expect.stringContaining('is undamaged') });
});

test('a read model that lacks events is not backed up, unless that is said', async () => {
  const pool = new pg.Pool({ connectionString: generated.url, options: `-c search_path=${readModelSchema}` });
  try {
    const { signal } = new AbortController();
    await untilCaughtUp(generated.log, { pool }, signal, 0);
    await generated.log.appendRecord(3, Buffer.from('of a process that has not projected it yet'));
    await expect(untilCaughtUp(generated.log, { pool }, signal, 0)).rejects.toThrow(
      'The read model is behind the log by 1 event.',
    );
    await outputOf(['backup', backups, '--key-file', keyFile, '--behind'], source);
  } finally {
    await pool.end();
  }
});
