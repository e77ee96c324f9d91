/** Ctrl-C, which npm sends twice, and which people press twice. The processes and their Postgres are real. */
import type { ChildProcess } from 'node:child_process';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isPostgresRunning } from '../../support/data-folder.ts';
import { killChild } from '../../support/kill-child.ts';
import { launchServer, sleepUntil, startServer, type TestServer } from '../../support/server.ts';
import { runTablog } from '../../support/tablog.ts';

/** On a busy machine a process needs seconds to load its modules. */
const beginsWithinMs = 60_000;

let folder: string;
/** Processes of a failed test may still run. */
const started: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-signals-'));
});

afterEach(async () => {
  await Promise.all(started.splice(0).map(killChild));
  await rm(folder, { recursive: true, force: true });
});

/** Whether a process has begun its work: the folder for its Postgres exists. */
function hasBegun(): Promise<boolean> {
  return access(join(folder, 'postgres')).then(
    () => true,
    () => false,
  );
}

/** Sends a request for a new table without its last bytes. `finish` sends them and returns the status of the answer. */
async function beginRequest(server: TestServer): Promise<{ finish(): Promise<number | undefined>; cut(): void }> {
  const token = await server.token();
  const outgoing = request(`${server.url}/tables`, {
    method: 'POST',
    headers: { 'authorization': `Bearer ${token}`, 'content-type': 'application/json', 'expect': '100-continue' },
  });
  outgoing.on('error', () => undefined);
  outgoing.flushHeaders();
  // The service has begun to read the body.
  await once(outgoing, 'continue');
  outgoing.write('{"name": "t", ');
  return {
    finish: async () => {
      outgoing.end('"rows": [{"a": 1}]}');
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    },
    cut: () => outgoing.destroy(),
  };
}

describe('a service with a request under way', () => {
  test('counts two SIGINTs 5 ms apart as one: it drains, stops its Postgres and exits with 0', async () => {
    const server = await startServer({ folder });
    started.push(server.process);
    const underWay = await beginRequest(server);
    server.process.kill('SIGINT');
    await sleep(5);
    const stopped = server.stop('SIGINT');
    expect(await underWay.finish()).toBe(201);
    expect(await stopped).toBe(0);
    expect(await isPostgresRunning(folder)).toBe(false);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends at once after a later second %s, and says so', async (signal, code) => {
    const server = await startServer({ folder });
    started.push(server.process);
    const underWay = await beginRequest(server);
    server.process.kill('SIGINT');
    await sleep(3000);
    expect(server.process.exitCode).toBeNull();
    expect(await server.stop(signal)).toBe(code);
    underWay.cut();
    expect(server.output()).toContain(`${signal} again: ends at once`);
    // Its Postgres keeps running; the next process takes it over, and stops it.
    expect(await isPostgresRunning(folder)).toBe(true);
    expect(await (await startServer({ folder })).stop()).toBe(0);
    expect(await isPostgresRunning(folder)).toBe(false);
  });
});

test('a service that is stopped during its start exits with 0 and leaves no Postgres', async () => {
  const server = await launchServer({ folder });
  started.push(server.process);
  await sleepUntil(hasBegun, 'the start has begun', beginsWithinMs);
  server.process.kill('SIGINT');
  await sleep(5);
  expect(await server.stop('SIGINT')).toBe(0);
  expect(await isPostgresRunning(folder)).toBe(false);
  expect(server.output()).toBe('');
});

test.each([[['teams', 'list']], [['verify']]])(
  '`tablog` with %j can be interrupted, and leaves no Postgres',
  async (args) => {
    const running = runTablog(args, { DATA_DIR: folder });
    started.push(running.child);
    await sleepUntil(hasBegun, 'the command has begun', beginsWithinMs);
    running.child.kill('SIGINT');
    await sleep(5);
    running.child.kill('SIGINT');
    expect(await running).toEqual({ code: 1, stdout: '', stderr: 'Interrupted.\n' });
    expect(await isPostgresRunning(folder)).toBe(false);
  },
);
