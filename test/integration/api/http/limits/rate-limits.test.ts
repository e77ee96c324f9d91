/** If the service limits the writes of a team, the command line waits and completes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Relay } from '../../../../support/relay.ts';
import { startServer, type TestServer } from '../../../../support/server.ts';
import { runTablog } from '../../../../support/tablog.ts';

let server: TestServer;
let relay: Relay;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-limits-'));
  server = await startServer({
    folder: join(folder, 'data'),
    environment: { RATE_LIMIT_ROWS: '1000', RATE_LIMIT_WINDOW_MS: '1000' },
  });
  relay = await Relay.open(server.url);
});

afterAll(async () => {
  await relay?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('an import waits as long as the service says, and then continues', async () => {
  const file = join(folder, 'numbers.csv');
  // Four chunks.
  await writeFile(file, `n\n${Array.from({ length: 3500 }, (_, n) => `${n}\n`).join('')}`);
  const environment = { TABLOG_URL: relay.url, TABLOG_TOKEN: await server.token(), XDG_CONFIG_HOME: folder };
  const imported = await runTablog(['import', file, '--table', 'numbers'], environment);
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining('3,500 rows imported') });
  expect(imported.stderr).toContain('Trying again: rate_limited: The team is limited to 1000 rows in 1 s.');
  // A chunk that waited for the end of a window is not refused in the same window again: each window accepts one of
  // four chunks.
  const chunks = relay.passed.filter(({ method }) => method === 'PUT');
  expect(chunks.filter(({ status }) => status === 200)).toHaveLength(4);
  expect(chunks.length).toBeGreaterThan(4);
  expect(chunks.length).toBeLessThanOrEqual(4 + 3 + 2 + 1);
});
