/** The paths that show a client its token and its team (decisions 3). */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { putChunks } from '../support/stashes.ts';
import { createTable } from '../support/tables.ts';
import { postUpload } from '../support/uploads.ts';

const { api } = useApi({
  RATE_LIMIT_REQUESTS: '1000',
  RATE_LIMIT_ROWS: '50',
  RATE_LIMIT_WINDOW_MS: '60000',
  LOG_BYTES_PER_DAY: '1000000',
  TABLES_MAX: '20',
});

test('a token shows its owner and its rights', async () => {
  const team = await api().createTeam();
  const expiresAt = Date.now() + 3_600_000;
  const whole = { name: 'test', team: { id: team.id, name: 'test' }, readOnly: false, appID: null, expires: null };
  const told = await team.client.get('/token');
  expect([told.status, told.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(told.json.data).toEqual({ ...whole, id: expect.any(String) });
  for (const [limits, changed] of [
    [{}, {}],
    [{ readOnly: true }, { readOnly: true }],
    [{ appId: 'shop' }, { appID: 'shop' }],
    [{ expiresAt }, { expires: new Date(expiresAt).toISOString() }],
  ] as const) {
    const token = await team.createToken(limits);
    expect((await token.client.get('/token')).json.data).toEqual({ ...whole, id: token.id, ...changed });
  }
});

test('a team sees its use of its quotas, and what sets them', async () => {
  const team = await api().createTeam();
  const client = new Client(api().url, team.client.token);
  const none = { used: 0, max: null, setBy: null };
  const byService = (used: number, max: number) => ({ used, max, setBy: 'service' });
  const first = await client.get('/usage');
  expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(first.json.data).toEqual({
    team: { id: team.id, name: 'test' },
    suspended: false,
    quotas: {
      rows: none,
      tables: byService(0, 20),
      stashes: byService(0, 10_000),
      openBodies: byService(0, 1000),
      openUploads: byService(0, 1000),
      openUploadBytes: byService(0, 100 * 2 ** 30),
      uploadBytes: none,
      logBytesPerDay: byService(0, 1_000_000),
    },
    rateLimits: [
      { name: 'requests', max: 1000, windowSeconds: 60, left: 999, resetSeconds: expect.any(Number) },
      { name: 'rows', max: 50, windowSeconds: 60, left: 50, resetSeconds: 60 },
    ],
  });

  await team.setPlan({ rowsMax: 10, tablesMax: 30 });
  await createTable(client, [{ a: 1 }, { a: 2 }, { a: 3 }]);
  await putChunks(client, 's', [['1', [{ a: 1 }]]]);
  await postUpload(client);
  await sleepUntil(async () => {
    const { quotas } = (await client.get('/usage')).json.data;
    return quotas.logBytesPerDay.used > 0;
  }, 'the bytes of the log are counted');
  const reader = await team.createToken({ readOnly: true });
  const { quotas, rateLimits } = (await reader.client.get('/usage')).json.data;
  expect(quotas).toMatchObject({
    rows: { used: 3, max: 10, setBy: 'plan' },
    tables: { used: 1, max: 30, setBy: 'plan' },
    stashes: { used: 1 },
    openUploads: { used: 1 },
    openUploadBytes: { used: 100 * 2 ** 20 },
  });
  expect(rateLimits).toMatchObject([{ name: 'requests' }, { name: 'rows', left: 46 }]);
  await team.suspend();
  expect((await client.get('/usage')).json.data).toMatchObject({ suspended: true });
});

test('a team sees its recent activity, as counted by the process that answers', async () => {
  const team = await api().createTeam();
  const client = new Client(api().url, team.client.token);
  const table = await createTable(client, [{ a: 1 }, { a: 2 }, { a: 3 }]);
  await client.patch(`${table.path}/${table.rowIds[0]}`, { a: 4 });
  await client.get(`${table.path}?limit=2`);
  const row = await client.get(`${table.path}/${table.rowIds[0]}`);
  await client.get(`${table.path}/${table.rowIds[0]}`, { 'if-none-match': row.headers.get('etag')! });
  await client.get('/tables/none');
  const answer = await client.get('/activity');
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  const { since, minutes, log } = answer.json.data;
  expect(Date.parse(since)).toBeLessThan(Date.now());
  const sumOf = (read: (minute: (typeof minutes)[0]) => number): number =>
    minutes.reduce((sum: number, minute: (typeof minutes)[0]) => sum + read(minute), 0);
  expect(['2xx', '3xx', '4xx', '5xx', 'cutOff'].map((name) => sumOf(({ requests }) => requests[name]))).toEqual([
    4, 1, 1, 0, 0,
  ]);
  expect([sumOf(({ rowsWritten }) => rowsWritten), sumOf(({ rowsRead }) => rowsRead)]).toEqual([4, 3]);
  expect(sumOf(({ bytesReceived }) => bytesReceived)).toBeGreaterThan(6 * 100);
  expect(sumOf(({ bytesSent }) => bytesSent)).toBeGreaterThan(6 * 100);
  expect(minutes.length).toBeLessThanOrEqual(60);
  expect(log).toEqual({
    version: expect.any(String),
    eventsBehind: expect.any(Number),
    halted: null,
    quarantinedSince: null,
  });
  expect(BigInt(log.version)).toBeGreaterThanOrEqual(row.version!);
});

test.each(['/usage', '/activity'])('%s refuses the token of an app', async (path) => {
  const team = await api().createTeam();
  const { client } = await team.createToken({ appId: 'shop' });
  expect(outcomeOf(await client.get(path))).toBe('403 forbidden');
});
