/** A capability plugs in by one line in each list, and has a part in all that a service does. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseMetrics, sumOf, type Sample } from '../support/metrics.ts';
import { sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { lines, PluggedTree, type ListName } from './plug-in.ts';

const all = Object.keys(lines) as ListName[];
let folder: string;
let tree: PluggedTree;
let server: TestServer | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-toy-'));
  tree = await PluggedTree.copyTo(folder);
});

afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

test.each<{ readonly missing: readonly ListName[]; readonly named: readonly RegExp[] }>([
  { missing: [], named: [/^$/] },
  { missing: ['features'], named: [/app\/features\.ts.*\n.*'counters' is missing/] },
  {
    missing: ['events', 'models'],
    named: [
      /counters\.model\.ts.*'CounterRaiseRequested' does not exist/,
      /counters\.feature\.ts.*'counters' does not exist/,
    ],
  },
])('without a line in $missing the compiler names what is missing', async ({ missing, named }) => {
  tree.plugInto(all.filter((name) => !missing.includes(name)));
  const said = await tree.compile();
  for (const pattern of named) expect(said).toMatch(pattern);
});

test('a service has its route, model, metric and maintenance task', async () => {
  tree.plugInto(all);
  await tree.writeTables();
  server = await startServer({
    main: join(folder, 'src/main.ts'),
    environment: { MAINTENANCE_INTERVAL_MS: '100', NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  const { url } = server;
  const headers = { authorization: `Bearer ${await server.token()}` };
  const metrics = async (): Promise<Sample[]> => parseMetrics(await (await fetch(`${url}/metrics`)).text());
  const count = async (): Promise<unknown> => (await fetch(`${url}/counter`, { headers })).json();
  const raise = async (by: number): Promise<number> =>
    (await fetch(`${url}/counter?by=${by}`, { method: 'POST', headers })).status;

  expect([await raise(2), await raise(3), await count()]).toEqual([204, 204, { data: { count: 5 } }]);
  expect(sumOf(await metrics(), 'tablog_counted')).toBe(5);
  expect([await raise(5), await count()]).toEqual([400, { data: { count: 5 } }]);
  expect(await raise(4)).toBe(204);
  await sleepUntil(async () => sumOf(await metrics(), 'tablog_counted') === 0, 'the full counter counts from 0 again');
  expect(sumOf(await metrics(), 'tablog_maintenance_done_total', { kind: 'restart_counters' })).toBeGreaterThan(0);
});
