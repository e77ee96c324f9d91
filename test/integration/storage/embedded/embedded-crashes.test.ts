/** The packaged Postgres starts again after it, or the process that started it, was killed. The processes are real. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { isAlive } from '../../../../src/storage/embedded/processes.ts';
import { scale } from '../../../scale.ts';
import { connect, killProcess, query, until, useEmbeddedFolder } from '../../../support/embedded-folder.ts';
import { limitMs } from '../../../support/time-limits.ts';

jest.setTimeout(limitMs(120_000));

const { folder, startsAnew, start, spawnStart, startInAnotherProcess } = useEmbeddedFolder();

test('a killed server is reported, and the next start recovers', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
  const exited = new Promise<void>((resolve) => first.onExit(resolve));
  await killProcess(first.pid);
  await exited;
  await first.stop();

  const second = await start();
  expect(second.pid).not.toBe(first.pid);
  expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  await second.stop();
});

test('a start succeeds while children of a killed server are still busy', async () => {
  const first = await start();
  const busy = query(first.url, 'SELECT count(*) FROM generate_series(1, 10000000) AS n WHERE n % 7 = 0');
  const settled = Promise.allSettled([busy]);
  await until(async () => {
    const sql = `SELECT FROM pg_stat_activity WHERE query LIKE '%series%' AND pid <> pg_backend_pid()`;
    return (await query(first.url, sql)).length > 0;
  });
  await killProcess(first.pid);
  const second = await start();
  await second.stop();
  await settled;
  await first.stop();
});

test('a server whose parent was killed is adopted, and can be stopped', async () => {
  const other = await startInAnotherProcess();
  expect(other.adopted).toBe(false);
  await killProcess(other.process.pid!);
  expect(await isAlive(other.pid)).toBe(true);

  const server = await start();
  expect(server).toMatchObject({ adopted: true, pid: other.pid });
  expect(await server.stop()).toBe(true);
  expect(await isAlive(other.pid)).toBe(false);
});

test('a start succeeds if postmaster.pid has the number of an unrelated process', async () => {
  const first = await start();
  const path = join(folder(), 'cluster', 'data', 'postmaster.pid');
  const text = await readFile(path, 'utf8');
  await killProcess(first.pid);
  await first.stop();
  await writeFile(path, text.replace(/^\d+/, String(process.pid)));

  const second = await start();
  expect(second.adopted).toBe(false);
  await second.stop();
});

test('a server that restarts its processes stays in use', async () => {
  const server = await start();
  const victim = await connect(server.url);
  const [backend] = (await victim.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
  const cut = new Promise<void>((resolve) => victim.once('end', resolve));
  process.kill(backend!.pid, 'SIGKILL');
  await cut;
  await until(() =>
    query(server.url, 'SELECT 1').then(
      () => true,
      () => false,
    ),
  );
  expect(await isAlive(server.pid)).toBe(true);
  expect(await server.stop({ ifUnused: true })).toBe(true);
});

test('a server can be stopped while it restarts its processes', async () => {
  const server = await start();
  const [backend] = await query(server.url, `SELECT pid FROM pg_stat_activity WHERE application_name = 'tablog lease'`);
  process.kill(backend!['pid'] as number, 'SIGKILL');
  expect(await server.stop({ ifUnused: true })).toBe(true);
  expect(await isAlive(server.pid)).toBe(false);
});

test('the files of an interrupted first start are removed', async () => {
  startsAnew();
  const gone = spawn('true');
  await once(gone, 'exit');
  for (const pid of [gone.pid, process.pid]) {
    await mkdir(join(folder(), `unfinished-${pid}`, 'data', 'base'), { recursive: true });
    await writeFile(join(folder(), `unfinished-${pid}`, 'password'), 'old');
  }
  const server = await start();
  expect((await readdir(folder())).sort()).toEqual(['cluster', 'server.log']);
  await server.stop();
});

test.each(scale.firstStartKilledAfter)('a first start that is killed after %d ms can be repeated', async (delayMs) => {
  startsAnew();
  const parent = spawnStart();
  await until(() =>
    readdir(folder()).then(
      (names) => names.length > 0,
      () => false,
    ),
  );
  await sleep(delayMs);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  const server = await start();
  expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  await server.stop();
  expect((await readdir(folder())).sort()).toEqual(['cluster', 'server.log']);
});
