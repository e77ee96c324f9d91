/**
 * `npm run smoke`: the deployment of docker-compose.yml, as its operator gets it. It is built and brought up under a
 * name and on ports of its own, used, restarted whole, used again, proven, and taken down with all that it stored.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { onStopSignal } from '../../src/app/stop-signals.ts';
import { Client } from '../support/client.ts';
import { freePort, sleepUntil } from '../support/server.ts';
import { measureSlowness } from '../support/time-limits.ts';

measureSlowness();

const root = join(import.meta.dirname, '..', '..');
const project = `tablog-smoke-${process.pid}`;
const ports = [await freePort(), await freePort()] as const;
const urls = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string];
const environment = {
  ...process.env,
  COMPOSE_PROJECT_NAME: project,
  COMPOSE_PROGRESS: 'plain',
  TABLOG_IMAGE: project,
  TABLOG_PORT: String(ports[0]),
  TABLOG_PORT_2: String(ports[1]),
};
const services = ['api-1', 'api-2', 'projector-1', 'projector-2'];

const readyWithinMs = 180_000;
const logLines = '100';

const interrupted = new AbortController();
onStopSignal((signal) => interrupted.abort(new Error(`${signal} told it to stop`)), say);

/** Runs `docker`, which says on stderr what it does. Gives what it wrote to stdout; rejects when it fails. */
async function docker(args: readonly string[], signal?: AbortSignal): Promise<string> {
  // In a group of its own, so that Ctrl-C reaches it only through this process.
  const child = spawn('docker', args, {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    ...(signal && { signal }),
  });
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]);
  if (code !== 0) throw new Error(`docker ${args.join(' ')}: exit code ${code}\n${stdout}`);
  return stdout;
}

function compose(...args: readonly string[]): Promise<string> {
  return docker(['compose', ...args], interrupted.signal);
}

/** Runs `tablog` in the container of the first API. */
function tablog(...args: readonly string[]): Promise<string> {
  return compose('exec', '-T', 'api-1', 'node', 'src/cli/tablog.ts', ...args);
}

async function untilReady(): Promise<void> {
  for (const url of urls) {
    await sleepUntil(
      async () => {
        interrupted.signal.throwIfAborted();
        return fetch(`${url}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        );
      },
      `${url}/readyz answers 200`,
      readyWithinMs,
    );
  }
}

function say(words: string): void {
  process.stderr.write(`smoke: ${words}\n`);
}

async function smoke(): Promise<void> {
  say(`${project} is built and brought up on ${urls.join(' and ')}`);
  await compose('up', '--build', '--detach');
  await untilReady();

  say('a table is made through one API and read through the other');
  const token = (await compose('exec', '-T', 'api-1', 'cat', '/data/token')).trim();
  const first = new Client(urls[0], token);
  const made = await first.post('/tables', {
    name: 'smoke',
    rows: [
      { city: 'Oslo', visits: 1 },
      { city: 'Rome', visits: 2 },
    ],
  });
  assert.equal(made.status, 201, made.text);
  const {
    tableID,
    rowIDs: [oslo],
  } = made.json.data;
  const rows = `/tables/${tableID}/rows`;
  const second = new Client(urls[1], token);
  const read = await second.get(rows);
  assert.deepEqual(
    read.json.data.map(({ city, visits }: Record<string, unknown>) => [city, visits]),
    [
      ['Oslo', 1],
      ['Rome', 2],
    ],
  );
  assert.equal(read.version, made.version);

  say('every container is restarted');
  await compose('restart');
  await untilReady();

  say('the table is read and patched');
  const filtered = await first.get(
    `${rows}?filter=${encodeURIComponent('{"column":"visits","op":"gt","value":1}')}&fields=city&count=exact`,
  );
  assert.equal(filtered.status, 200, filtered.text);
  assert.deepEqual(
    filtered.json.data.map(({ city }: { city: string }) => city),
    ['Rome'],
  );
  const largest = await first.get(`${rows}?sort=-visits&limit=1`);
  const next = await second.get(`${rows}?continuation=${largest.json.continuation}`);
  assert.deepEqual(
    [largest, next].map(({ json }) => json.data.map(({ city }: { city: string }) => city)),
    [['Rome'], ['Oslo']],
  );
  const again = await second.get(rows);
  assert.deepEqual([again.text, again.version], [read.text, read.version]);
  const patch = (): ReturnType<Client['patch']> =>
    first.patch(
      `${rows}/${oslo}`,
      { visits: 3 },
      { 'if-match': `"${read.version}"`, 'idempotency-key': 'after the restart' },
    );
  let patched = await patch();
  // Until Kafka has given the partition to a projector.
  for (let times = 0; patched.status === 503 && times < 5; times += 1) patched = await patch();
  assert.equal(patched.status, 200, patched.text);
  const { json: row } = await second.get(`${rows}/${oslo}`);
  assert.equal(row.data.visits, 3);

  say('a second token is made and used, and the read model is compared with the log');
  const other = new Client(urls[1], (await tablog('tokens', 'create', '--team', 'default', '--name', 'smoke')).trim());
  assert.equal((await other.get(rows)).text, (await first.get(rows)).text);
  const { equal, tables } = JSON.parse(await tablog('verify', '--json'));
  assert.deepEqual({ equal, tables }, { equal: true, tables: 1 });

  say('the service is stopped, and has the time to drain');
  await compose('stop', ...services);
  for (const service of services) {
    const id = (await compose('ps', '--all', '--quiet', service)).trim();
    assert.equal(
      (await docker(['inspect', '--format', '{{.State.ExitCode}}', id])).trim(),
      '0',
      `exit code of ${service}`,
    );
  }
}

/** Ends all that was started, whatever became of it. */
async function takeDown(): Promise<void> {
  await docker(['compose', 'down', '--volumes', '--timeout', '20']);
  // It is not there when it could not be built.
  if ((await docker(['image', 'ls', '--quiet', project])) !== '') await docker(['image', 'rm', project]);
}

let failed = false;
try {
  await smoke();
} catch (error) {
  failed = true;
  say(`failed: ${error instanceof Error ? error.stack : String(error)}`);
  await docker(['compose', 'logs', '--no-color', '--tail', logLines]).then(
    (lines) => process.stderr.write(lines),
    (reason: Error) => say(reason.message),
  );
}
try {
  await takeDown();
} catch (error) {
  failed = true;
  say(`could not be taken down: ${String(error)}`);
}
say(failed ? 'failed' : 'passed');
process.exitCode = failed ? 1 : 0;
