/** The files of the console are read when they are first asked for (src/api/http/service/console.ts). */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fastify from 'fastify';
import { addConsoleRoutes } from '../../../../../src/api/http/service/console.ts';
import type { App } from '../../../../../src/api/http/server/app-type.ts';

test('a file that could not be read is read with the next request', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-console-'));
  const app = fastify();
  try {
    await writeFile(join(folder, 'index.html'), '');
    await writeFile(join(folder, 'main.js'), 'start()');
    addConsoleRoutes(app as unknown as App, folder, null, null);
    const statusOf = async (): Promise<number> => (await app.inject('/console/main.js')).statusCode;
    await rename(join(folder, 'main.js'), join(folder, 'away.js'));
    expect(await statusOf()).toBe(500);
    await rename(join(folder, 'away.js'), join(folder, 'main.js'));
    expect(await statusOf()).toBe(200);
  } finally {
    await app.close();
    await rm(folder, { recursive: true });
  }
});
