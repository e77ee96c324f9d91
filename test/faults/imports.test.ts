/**
 * The service and its embedded Postgres are killed together while stashes are uploaded and imported: every acknowledged chunk
 * and import is there, once, and nobody ever reads a part of an import.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Client } from '../support/client.ts';
import { freePort, launchServer, startServer, untilReady, type TestServer } from '../support/server.ts';
import { findImportProblems } from './imports.ts';
import { kill, killEverything, processesOf, untilGone } from './kill.ts';
import { randomFrom } from './load.ts';
import { seed } from './survive.ts';
import { verify } from './verify.ts';

const kills = Number(process.env['KILLS'] ?? 20);

let folder: string;
let server: TestServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-imports-'));
});

afterEach(async () => {
  await killEverything(server);
  await rm(folder, { recursive: true, force: true });
});

test(`imports are whole or not there, in ${kills} kills`, async () => {
  process.stderr.write(`SEED=${seed} KILLS=${kills}\n`);
  const random = randomFrom(seed);
  const port = await freePort();
  server = await startServer({ folder, port });
  const client = new Client(server.url, await server.token());
  const problems = await findImportProblems([client], (n) => randomFrom(seed + 1 + n), async () => {
    for (let count = 0; count < kills; count += 1) {
      await untilReady(server);
      await sleep(50 + random() * 1200);
      const exited = once(server.process, 'exit');
      await Promise.all([kill(await processesOf(server)), exited]);
      server = await launchServer({ folder, port });
    }
    await untilReady(server);
    await sleep(500);
  });
  expect(problems).toEqual([]);
  const processes = await processesOf(server);
  expect(await server.stop()).toBe(0);
  await untilGone(processes);
  expect(await verify({ DATA_DIR: folder })).toMatchObject({ exitCode: 0 });
}, 600_000);
