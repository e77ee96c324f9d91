/**
 * The service from the command line, and the commands for teams, plans and tokens while it runs. The first start
 * creates a team.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '../../support/client.ts';
import { isPostgresRunning, useDataFolder } from '../../support/data-folder.ts';
import { sleepUntil, startServer, type TestServer } from '../../support/server.ts';
import { runTablog } from '../../support/tablog.ts';

const { folder, tablog, output } = useDataFolder();

test('`tablog serve` is the service', async () => {
  const serving = runTablog(['serve'], { DATA_DIR: folder(), PORT: '0' });
  await sleepUntil(
    () =>
      access(join(folder(), 'token')).then(
        () => true,
        () => false,
      ),
    'the first token is there',
  );
  expect(JSON.parse(await output('teams', 'list', '--json'))).toMatchObject([{ name: 'default' }]);
  serving.child.kill('SIGTERM');
  const ended = await serving;
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain('Tablog is ready at http://127.0.0.1:');
});

describe('beside a running service', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startServer({ folder: folder() });
  });

  afterAll(async () => {
    await server?.stop();
  });

  async function newClient(): Promise<Client> {
    return new Client(server.url, await output('tokens', 'create', '--team', 'default'));
  }

  test('a revoked token is refused by every process', async () => {
    const { id, token } = JSON.parse(await output('tokens', 'create', '--team', 'default', '--json'));
    const other = await startServer({ folder: folder() });
    try {
      const clients = [server, other].map(({ url }) => new Client(url, token));
      for (const client of clients) expect((await client.get('/tables')).status).toBe(200);
      expect((await tablog('tokens', 'revoke', id, '--team', 'default')).stderr).toMatch(
        /^The token "made [^"]+" is revoked\./,
      );
      await sleepUntil(async () => {
        const answers = await Promise.all(clients.map((client) => client.get('/tables')));
        return answers.every(({ status }) => status === 404);
      }, 'both refuse it');
      // Before a process ends, it writes the last use of its tokens.
      expect(await other.stop()).toBe(0);
      const tokens = JSON.parse(await output('tokens', 'list', '--team', 'default', '--json'));
      expect(tokens.find((one: { id: string }) => one.id === id)).toMatchObject({
        revoked: true,
        lastUsedAt: expect.stringMatching(/^\d{4}-.*:\d\d:00\.000Z$/),
      });
    } finally {
      await other.stop();
    }
  });

  test('a suspended team is answered 402 until it is resumed', async () => {
    const client = await newClient();
    const { json } = await client.post('/tables', { name: 't', rows: [{ a: 1 }] });
    const rows = `/tables/${json.data.tableID}/rows`;
    await output('plans', 'suspend', 'default');
    expect((await client.get(rows)).status).toBe(402);
    expect(await client.post(rows, [{ a: 2 }])).toMatchObject({
      status: 402,
      json: { error: { type: 'payment_required' } },
    });
    await output('plans', 'resume', 'default');
    expect((await client.post(rows, [{ a: 2 }])).status).toBe(201);
    expect((await client.rows(json.data.tableID)).map(({ a }) => a)).toEqual([1, 2]);
  });

  test('a plan is enforced: the first row beyond it is answered 402', async () => {
    const client = await newClient();
    const { rows } = JSON.parse(await output('teams', 'list', '--json')).find(
      ({ name }: { name: string }) => name === 'default',
    );
    await output('plans', 'set', 'default', '--rows', String(rows + 1));
    expect((await client.post('/tables', { name: 't', rows: [{ a: 1 }, { a: 2 }] })).status).toBe(402);
    const created = await client.post('/tables', { name: 't', rows: [{ a: 1 }] });
    expect(created.status).toBe(201);
    const path = `/tables/${created.json.data.tableID}/rows`;
    expect((await client.post(path, [{ a: 2 }])).status).toBe(402);
    await output('plans', 'set', 'default', '--rows', 'unlimited');
    expect((await client.post(path, [{ a: 2 }])).status).toBe(201);
  });

  test('verify finds the live read model equal, and replay replaces it while the service runs', async () => {
    const client = await newClient();
    const { json } = await client.post('/tables', { name: 'served', rows: [{ a: 1 }] });
    expect(await output('verify')).toMatch(
      /^The read model matches the log: \d+ events?, \d+ tables?, \d+ rows?, [\d.]+ s\.$/,
    );
    expect(await output('replay')).toMatch(/^The read model was rebuilt from \d+ events in [\d.]+ s\.$/);
    const path = `/tables/${json.data.tableID}/rows`;
    // The process closes the old read model and opens the new one, and refuses connections for a moment.
    await sleepUntil(
      async () => (await client.post(path, [{ a: 2 }]).catch(() => null))?.status === 201,
      'a row can be added',
    );
    expect((await client.rows(json.data.tableID)).map(({ a }) => a)).toEqual([1, 2]);
  });

  test('the last process stops Postgres, and replay works afterwards', async () => {
    const client = await newClient();
    const { json } = await client.post('/tables', { name: 'kept', rows: [{ a: 1.5 }, { a: 2 }] });
    expect(await isPostgresRunning(folder())).toBe(true);
    expect(await server.stop()).toBe(0);
    expect(await isPostgresRunning(folder())).toBe(false);
    expect(await output('replay')).toMatch(/^The read model was rebuilt from \d+ events in [\d.]+ s\.$/);
    expect(await isPostgresRunning(folder())).toBe(false);
    server = await startServer({ folder: folder() });
    const again = new Client(server.url, client.token);
    expect((await again.rows(json.data.tableID)).map(({ a }) => a)).toEqual([1.5, 2]);
  });
});
