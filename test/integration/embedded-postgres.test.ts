/** The packaged Postgres, with real processes: how it starts, what it survives, and that it leaves nothing behind. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { findPostmaster } from '../../src/embedded/postmaster.ts';
import { isAlive } from '../../src/embedded/processes.ts';
import { scale } from '../scale.ts';

const MODULE = new URL('../../src/embedded/embedded-postgres.ts', import.meta.url).href;

jest.setTimeout(120_000);

/** What a first start leaves: tests copy it, because it takes most of the time of a start. */
let prepared: string;
let outer: string;
let folder: string;
let lines: string[];
let parents: ChildProcess[];

beforeAll(async () => {
  prepared = await newFolder();
  await (await startEmbeddedPostgres({ folder: join(prepared, 'postgres'), log: () => undefined })).stop();
});

afterAll(() => rm(prepared, { recursive: true, force: true }));

beforeEach(async () => {
  outer = await newFolder();
  folder = join(outer, 'postgres');
  await promisify(execFile)('cp', ['-a', join(prepared, 'postgres'), folder]);
  lines = [];
  parents = [];
});

async function newFolder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'tablog-embedded-'));
  await chmod(made, 0o755);
  return made;
}

/** Of a test of the first start. */
function startsAnew(): void {
  folder = join(outer, 'new');
}

afterEach(async () => {
  for (const parent of parents) parent.kill('SIGKILL');
  const left = await findPostmaster(join(folder, 'cluster', 'data'));
  if (left !== undefined) await (await start()).stop();
  await rm(outer, { recursive: true, force: true });
});

function start(settings: Record<string, string> = {}): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ folder, settings, log: (line) => lines.push(line), startTimeoutMs: 60_000 });
}

/** Another process that starts the server and says so on a line; then it waits to be killed. */
async function startInAnotherProcess(): Promise<{ process: ChildProcess; pid: number; adopted: boolean }> {
  const script = `
    import { startEmbeddedPostgres } from ${JSON.stringify(MODULE)};
    const { pid, adopted } = await startEmbeddedPostgres({ folder: ${JSON.stringify(folder)}, log: () => {} });
    console.log(JSON.stringify({ pid, adopted }));`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  parents.push(parent);
  const [line] = (await once(createInterface(parent.stdout), 'line')) as [string];
  return { process: parent, ...(JSON.parse(line) as { pid: number; adopted: boolean }) };
}

/** A connection whose break is no error of the test. */
async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = await connect(url);
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await sleep(20);
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(async () => !(await isAlive(pid)));
}

describe('starting and stopping', () => {
  test('the data outlive a stop, which leaves no process', async () => {
    const first = await start();
    expect(first.adopted).toBe(false);
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    expect(await isAlive(first.pid)).toBe(false);
    expect(await findPostmaster(join(folder, 'cluster', 'data'))).toBeUndefined();

    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await second.stop();
    expect(lines.join('\n')).toContain('database system is shut down');
  });

  test('it is durable, local, in C.UTF-8 and UTC; settings can be given', async () => {
    startsAnew();
    const server = await start({ work_mem: '5MB' });
    const shown = await query(
      server.url,
      `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes',
         'listen_addresses', 'unix_socket_directories', 'TimeZone', 'server_encoding', 'work_mem')`,
    );
    expect(Object.fromEntries(shown.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      TimeZone: 'UTC',
      server_encoding: 'UTF8',
      work_mem: '5120',
    });
    const locale = 'SELECT datlocprovider, datlocale FROM pg_database WHERE datname = current_database()';
    expect(await query(server.url, locale)).toEqual([{ datlocprovider: 'b', datlocale: 'C.UTF-8' }]);
    await server.stop();
  });

  test('only its password opens it, and only its owner reads that', async () => {
    startsAnew();
    const server = await start();
    expect((await stat(join(folder, 'cluster', 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'cluster'))).mode & 0o777).toBe(0o700);
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    await server.stop();
  });

  test('it runs below a folder that others cannot enter', async () => {
    startsAnew();
    await chmod(outer, 0o700);
    const server = await start();
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  test('a setting that Postgres refuses is shown', async () => {
    await expect(start({ work_mem: 'much' })).rejects.toThrow('invalid value for parameter "work_mem"');
  });
});

describe('what a crash leaves', () => {
  test('a killed server is reported, and the next start recovers', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    const exited = new Promise<void>((resolve) => first.onExit(resolve));
    await kill(first.pid);
    await exited;
    await first.stop();

    const second = await start();
    expect(second.pid).not.toBe(first.pid);
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await second.stop();
  });

  test('children of a killed server may still be busy', async () => {
    const first = await start();
    const busy = query(first.url, 'SELECT count(*) FROM generate_series(1, 10000000) AS n WHERE n % 7 = 0');
    const settled = Promise.allSettled([busy]);
    await until(async () => {
      const sql = `SELECT FROM pg_stat_activity WHERE query LIKE '%series%' AND pid <> pg_backend_pid()`;
      return (await query(first.url, sql)).length > 0;
    });
    await kill(first.pid);
    const second = await start();
    await second.stop();
    await settled;
    await first.stop();
  });

  test('a server whose parent was killed is adopted, and can be stopped', async () => {
    const other = await startInAnotherProcess();
    expect(other.adopted).toBe(false);
    await kill(other.process.pid!);
    expect(await isAlive(other.pid)).toBe(true);

    const server = await start();
    expect(server).toMatchObject({ adopted: true, pid: other.pid });
    expect(await server.stop()).toBe(true);
    expect(await isAlive(other.pid)).toBe(false);
  });

  test('the number in postmaster.pid may be that of an unrelated process', async () => {
    const first = await start();
    const path = join(folder, 'cluster', 'data', 'postmaster.pid');
    const text = await readFile(path, 'utf8');
    await kill(first.pid);
    await first.stop();
    await writeFile(path, text.replace(/^\d+/, String(process.pid)));

    const second = await start();
    expect(second.adopted).toBe(false);
    await second.stop();
  });

  test('a server that restarts its processes is kept', async () => {
    const server = await start();
    const victim = await connect(server.url);
    const [backend] = (await victim.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
    const cut = new Promise<void>((resolve) => victim.once('end', resolve));
    process.kill(backend!.pid, 'SIGKILL');
    await cut;
    await until(() => query(server.url, 'SELECT 1').then(() => true, () => false));
    expect(await isAlive(server.pid)).toBe(true);
    expect(await server.stop({ ifUnused: true })).toBe(true);
  });

  test('a server that still restarts its processes is stopped', async () => {
    const server = await start();
    const [backend] = await query(server.url, `SELECT pid FROM pg_stat_activity WHERE application_name = 'tablog lease'`);
    process.kill(backend!['pid'] as number, 'SIGKILL');
    expect(await server.stop({ ifUnused: true })).toBe(true);
    expect(await isAlive(server.pid)).toBe(false);
  });

  test('what an interrupted first start left is removed', async () => {
    startsAnew();
    const gone = spawn('true');
    await once(gone, 'exit');
    for (const pid of [gone.pid, process.pid]) {
      await mkdir(join(folder, `unfinished-${pid}`, 'data', 'base'), { recursive: true });
      await writeFile(join(folder, `unfinished-${pid}`, 'password'), 'old');
    }
    const server = await start();
    expect((await readdir(folder)).sort()).toEqual(['cluster', 'server.log']);
    await server.stop();
  });

  test.each(scale.firstStartKilledAfter)('a first start that is killed after %d ms can be repeated', async (delayMs) => {
    startsAnew();
    const script = `await (await import(${JSON.stringify(MODULE)})).startEmbeddedPostgres({
      folder: ${JSON.stringify(folder)}, log: () => {} })`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    parents.push(parent);
    await until(() => readdir(folder).then((names) => names.length > 0, () => false));
    await sleep(delayMs);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    const server = await start();
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
    expect((await readdir(folder)).sort()).toEqual(['cluster', 'server.log']);
  });
});

describe('several processes', () => {
  test.each(['first', 'second'])('of two that start at once, at the %s start, one adopts', async (when) => {
    if (when === 'first') startsAnew();
    const [here, there] = await Promise.all([start(), startInAnotherProcess()]);
    expect([here.adopted, there.adopted].sort()).toEqual([false, true]);
    expect(here.pid).toBe(there.pid);
    expect(await query(here.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await here.stop();
  });

  test('a server that others use is left running by those who ask', async () => {
    const service = await start();
    const commandLine = await start();
    expect(commandLine).toMatchObject({ adopted: true, pid: service.pid });
    expect(await commandLine.stop({ ifUnused: true })).toBe(false);

    const client = await connect(service.url);
    expect(await service.stop({ ifUnused: true })).toBe(false);
    expect(await isAlive(service.pid)).toBe(true);
    await client.end();

    const last = await start();
    expect(last.adopted).toBe(true);
    expect(await last.stop({ ifUnused: true })).toBe(true);
    expect(await isAlive(service.pid)).toBe(false);
  });

  test('when all leave at once, one of them stops the server', async () => {
    const users = [await start(), await start(), await start()];
    const stopped = await Promise.all(users.map((user) => user.stop({ ifUnused: true })));
    expect(stopped.filter(Boolean)).toHaveLength(1);
    expect(await isAlive(users[0]!.pid)).toBe(false);
  });

  test('who comes while the server stops gets a running one', async () => {
    for (let round = 0; round < 5; round += 1) {
      const leaving = await start();
      const [, coming] = await Promise.all([leaving.stop({ ifUnused: true }), start()]);
      expect(await query(coming.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      await coming.stop();
    }
  });
});
