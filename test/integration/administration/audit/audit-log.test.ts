/** The audit log of a service and of the command line beside it, in one file. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newAccessToken } from '../../../../src/storage/security/access-token.ts';
import { Client, outcomeOf } from '../../../support/client.ts';
import { startServer, type TestServer } from '../../../support/server.ts';
import { runTablog } from '../../../support/tablog.ts';
import { upload, withdraw } from '../../../support/uploads.ts';

let folder: string;
let file: string;
let server: TestServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-audit-'));
  file = join(folder, 'audit.log');
  server = await startServer({ folder: join(folder, 'data'), environment: { AUDIT_LOG_FILE: file } });
});

afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

type Line = Readonly<Record<string, unknown>>;

async function lines(): Promise<Line[]> {
  return (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

async function linesOf(work: () => Promise<unknown>): Promise<Line[]> {
  const before = (await lines()).length;
  await work();
  return (await lines()).slice(before).map(({ time: _time, ...line }) => line);
}

async function tablog(...args: readonly string[]): Promise<string> {
  return (await runTablog(args, { DATA_DIR: join(folder, 'data'), AUDIT_LOG_FILE: file })).stdout.trim();
}

const user = userInfo().username;

/** The team and the token of the first start. */
async function first(): Promise<{ readonly teamId: string; readonly tokenId: string }> {
  const team = JSON.parse(await tablog('teams', 'list', '--json')).find(({ name }: Line) => name === 'default');
  const [token] = JSON.parse(await tablog('tokens', 'list', '--team', team.id, '--json'));
  return { teamId: team.id, tokenId: token.id };
}

test('each administrative command has a line with its user and its result', async () => {
  const { teamId, tokenId } = await first();
  expect((await lines()).map(({ time: _time, ...line }) => line)).toEqual([
    { action: 'team.create', result: 'done', teamId, name: 'default' },
    { action: 'token.create', result: 'done', teamId, tokenId, name: 'first' },
  ]);
  let team = '';
  expect(
    await linesOf(async () => {
      team = await tablog('teams', 'create', 'acme');
    }),
  ).toEqual([{ action: 'team.create', result: 'done', user, teamId: team, name: 'acme' }]);
  let made = { id: '', token: '' };
  let ofOperator = { id: '', name: '' };
  const created = await linesOf(async () => {
    made = JSON.parse(
      await tablog('tokens', 'create', '--team', 'acme', '--name', 'shop', '--app', 'a', '--read-only', '--json'),
    );
  });
  const token = { user, team: 'acme', teamId: team, tokenId: made.id, name: 'shop' };
  expect(created).toEqual([
    { action: 'token.create', result: 'done', ...token, readOnly: true, appId: 'a', expiresAt: null },
  ]);
  expect(
    await linesOf(async () => {
      ofOperator = JSON.parse(await tablog('tokens', 'create', '--operator', '--json'));
    }),
  ).toEqual([
    {
      action: 'token.create',
      result: 'done',
      user,
      tokenId: ofOperator.id,
      operator: true,
      name: ofOperator.name,
      expiresAt: null,
    },
  ]);
  expect(await linesOf(() => tablog('tokens', 'revoke', ofOperator.id, '--operator'))).toEqual([
    { action: 'token.revoke', result: 'done', user, operator: true, tokenId: ofOperator.id, name: ofOperator.name },
  ]);
  expect(await linesOf(() => tablog('tokens', 'revoke', made.id, '--team', 'acme'))).toEqual([
    { action: 'token.revoke', result: 'done', ...token },
  ]);
  // If a person gives the token in place of its ID, the file does not show the token.
  expect(await linesOf(() => tablog('tokens', 'revoke', made.token, '--team', 'acme'))).toEqual([
    { action: 'token.revoke', result: 'failed', user, team: 'acme', tokenId: null },
  ]);
  const plan = { user, team: 'acme', teamId: team };
  expect(await linesOf(() => tablog('plans', 'set', 'acme', '--rows', '7'))).toEqual([
    { action: 'plan.set', result: 'done', ...plan, rowsMax: 7 },
  ]);
  expect(await linesOf(() => tablog('plans', 'suspend', 'acme'))).toEqual([
    { action: 'plan.suspend', result: 'done', ...plan },
  ]);
  expect(await linesOf(() => tablog('plans', 'resume', 'acme'))).toEqual([
    { action: 'plan.resume', result: 'done', ...plan },
  ]);
  expect(await linesOf(() => tablog('plans', 'suspend', 'nobody'))).toEqual([
    { action: 'plan.suspend', result: 'failed', user, team: 'nobody' },
  ]);
  expect(await linesOf(() => tablog('keys', 'rotate'))).toEqual([
    { action: 'key.rotate', result: 'done', user, keyId: 2 },
  ]);
  expect(await linesOf(() => tablog('keys', 'remove', '1'))).toEqual([
    { action: 'key.remove', result: 'failed', user, keyId: 1 },
  ]);
  expect(await readFile(file, 'utf8')).not.toContain(made.token);
  // A command that changes nothing has no line.
  expect(await linesOf(() => tablog('teams', 'list'))).toEqual([]);
});

test('a command changes nothing if it cannot write its line', async () => {
  const environment = { DATA_DIR: join(folder, 'data'), AUDIT_LOG_FILE: join(folder, 'missing', 'audit.log') };
  const { code, stderr } = await runTablog(['teams', 'create', 'unseen'], environment);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^The settings are not usable:\nAUDIT_LOG_FILE: ENOENT/),
  });
  expect(await tablog('teams', 'list')).not.toContain('unseen');
});

test('withdrawals and refused tokens have the address of the client', async () => {
  const token = await server.token();
  const client = new Client(server.url, token);
  const file = await upload(client, 'bytes');
  const proxied = { 'x-forwarded-for': '203.0.113.9' };
  const withdrawn = await linesOf(async () => {
    for (const outcome of ['200', '404 upload_not_found'])
      expect(outcomeOf(await withdraw(client, file, proxied))).toBe(outcome);
  });
  const line = {
    action: 'file.withdraw',
    ...(await first()),
    address: '127.0.0.1',
    forwardedFor: '203.0.113.9',
    appId: 'shop',
    uploadId: file.id,
  };
  expect(withdrawn).toEqual([
    { ...line, result: 'done' },
    { ...line, result: 'upload_not_found' },
  ]);

  const revoked = JSON.parse(await tablog('tokens', 'create', '--operator', '--json'));
  await tablog('tokens', 'revoke', revoked.id, '--operator');
  const refused = await linesOf(async () => {
    const wrong = newAccessToken();
    for (const bearer of [wrong, wrong, 'x'])
      expect((await new Client(server.url, bearer).get('/tables', proxied)).status).toBe(404);
    expect((await new Client(server.url, revoked.token).get('/admin/teams', proxied)).status).toBe(404);
    expect(await server.stop()).toBe(0);
  });
  // They may have been counted in two intervals.
  expect(refused.reduce((sum, { count }) => sum + (count as number), 0)).toBe(4);
  for (const { count: _count, ...one } of refused) {
    expect(one).toEqual({
      action: 'token.refused',
      result: 'request_error',
      address: '127.0.0.1',
      forwardedFor: '203.0.113.9',
    });
  }
  const written = await readFile(join(folder, 'audit.log'), 'utf8');
  for (const secret of [token, revoked.token]) expect(written).not.toContain(secret);
});

test('commands that change a log, or what is made from it, have a line', async () => {
  expect(await linesOf(() => tablog('log', 'resume'))).toEqual([{ action: 'log.resume', result: 'done', user }]);
  expect(await linesOf(() => tablog('replay'))).toEqual([{ action: 'readmodel.replay', result: 'done', user }]);
});
