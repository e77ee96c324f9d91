/**
 * The packaged Postgres, with real processes: it starts, stops, and leaves nothing behind. embedded-crashes.test.ts
 * tests crashes.
 */
import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { findPostmaster } from '../../../../src/storage/embedded/postmaster.ts';
import { isAlive } from '../../../../src/storage/embedded/processes.ts';
import { connect, query, useEmbeddedFolder } from '../../../support/embedded-folder.ts';
import { limitMs } from '../../../support/time-limits.ts';

jest.setTimeout(limitMs(120_000));

const { folder, outer, startsAnew, lines, start, startInAnotherProcess } = useEmbeddedFolder();

describe('starting and stopping', () => {
  test('the data survive a stop, which leaves no process', async () => {
    const first = await start();
    expect(first.adopted).toBe(false);
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    expect(await isAlive(first.pid)).toBe(false);
    expect(await findPostmaster(join(folder(), 'cluster', 'data'))).toBeUndefined();

    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await second.stop();
    expect(lines().join('\n')).toContain('database system is shut down');
  });

  test('the server is durable, local, in C.UTF-8 and UTC, and takes further settings', async () => {
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

  test('the server requires its password, which only its owner can read', async () => {
    startsAnew();
    const server = await start();
    expect((await stat(join(folder(), 'cluster', 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder(), 'cluster'))).mode & 0o777).toBe(0o700);
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    await server.stop();
  });

  test('the server runs below a folder that others cannot enter', async () => {
    startsAnew();
    await chmod(outer(), 0o700);
    const server = await start();
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  test('a setting that Postgres refuses is shown', async () => {
    await expect(start({ work_mem: 'much' })).rejects.toThrow('invalid value for parameter "work_mem"');
  });
});

describe('several processes', () => {
  test.each(['first', 'second'])(
    'one of two processes that start at once adopts the database at the %s start',
    async (when) => {
      if (when === 'first') startsAnew();
      const [here, there] = await Promise.all([start(), startInAnotherProcess()]);
      expect([here.adopted, there.adopted].sort()).toEqual([false, true]);
      expect(here.pid).toBe(there.pid);
      expect(await query(here.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      await here.stop();
    },
  );

  test('a process that stops leaves the server running for the others', async () => {
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

  test('if all processes stop at once, one of them stops the server', async () => {
    const users = [await start(), await start(), await start()];
    const stopped = await Promise.all(users.map((user) => user.stop({ ifUnused: true })));
    expect(stopped.filter(Boolean)).toHaveLength(1);
    expect(await isAlive(users[0]!.pid)).toBe(false);
  });

  test('a process that starts while the server stops gets a running one', async () => {
    for (let round = 0; round < 5; round += 1) {
      const leaving = await start();
      const [, coming] = await Promise.all([leaving.stop({ ifUnused: true }), start()]);
      expect(await query(coming.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      await coming.stop();
    }
  });
});
