/**
 * With the log in Postgres, an event of another process that cannot be projected holds its team, but no other team of
 * the partition.
 */
import { afterEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createToken } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/hash-token.ts';
import { inTransaction } from '../../src/storage/database/transaction.ts';
import { appendRecord } from '../../src/log/postgres/append-record.ts';
import { newAccessToken } from '../../src/storage/security/access-token.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil, startServer } from '../support/server.ts';
import { runTablog } from '../support/tablog.ts';
import { plantTableFault, recordOf, teamIn, Tenant } from './quarantined-team.ts';
import { verify } from './verify.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

test('the neighbour of a held team goes on, also after a restart, and after the fix the team has all held events', async () => {
  const { url: databaseUrl, drop } = await createDatabase();
  closers.push(drop);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  closers.push(() => pool.end());
  let server = await startServer({ databaseUrl });
  closers.push(() => server.stop());
  const append = async (partition: number, ...records: readonly Uint8Array[]): Promise<void> => {
    for (const bytes of records) await inTransaction(pool, (client) => appendRecord(client, partition, bytes));
  };
  const auditFile = join(tmpdir(), `tablog-audit-${randomUUID()}.log`);
  closers.push(() => rm(auditFile, { force: true }));
  const tablog = (...args: readonly string[]): ReturnType<typeof runTablog> =>
    runTablog(args, { DATABASE_URL: databaseUrl, AUDIT_LOG_FILE: auditFile });
  const unluckyTeam = teamIn();
  const { partition, id: teamId } = unluckyTeam;
  const luckyTeam = teamIn(partition);
  await append(partition, ...unluckyTeam.records, ...luckyTeam.records);
  const tenants = (): [Tenant, Tenant] => [
    new Tenant([server.url], unluckyTeam.token),
    new Tenant([server.url], luckyTeam.token),
  ];
  let [unlucky, lucky] = tenants();
  await lucky.makeTable();
  await unlucky.makeTable();

  const repair = await plantTableFault(databaseUrl, 'tokens', teamId);
  const tokens = [newAccessToken(), newAccessToken()];
  await append(
    partition,
    ...tokens.map((token) => recordOf(createToken(teamId, randomUUID(), 'held', hashToken(token)))),
  );
  await unlucky.untilRefused();
  for (let n = 0; n < 5; n += 1) expect(outcomeOf(await lucky.patch(`second ${n}`))).toBe('200');
  // Nobody adds to the held events.
  expect(await tablog('plans', 'suspend', teamId)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`team ${teamId} is in quarantine`),
  });

  const operatorToken = (await tablog('tokens', 'create', '--operator')).stdout.trim();
  await server.stop();
  server = await startServer({ databaseUrl });
  [unlucky, lucky] = tenants();
  await lucky.makeTable();
  await unlucky.untilRefused();
  expect(outcomeOf(await lucky.patch('third'))).toBe('200');
  expect(JSON.parse((await tablog('quarantine', 'list', '--json')).stdout)).toEqual([
    expect.objectContaining({ teamId, partition }),
  ]);

  const operator = new Client(server.url, operatorToken);
  expect(outcomeOf(await operator.send(`/admin/teams/${teamId}/suspend`, { method: 'POST' }))).toBe(
    '503 service_unavailable',
  );
  expect((await operator.get(`/admin/teams/${teamId}`)).json.data.quarantinedSince).toEqual(expect.any(String));
  expect((await operator.get('/admin/quarantine')).json.data).toEqual([
    expect.objectContaining({ teamID: teamId, name: 'team', partition }),
  ]);
  expect((await operator.get('/admin/partitions')).json.data[partition]).toMatchObject({
    partition,
    halted: null,
    quarantined: [teamId],
  });
  const release = async () =>
    (await operator.send(`/admin/quarantine/${teamId}/release`, { method: 'POST' })).json.data;
  expect(await release()).toEqual({
    teamID: teamId,
    released: false,
    error: expect.stringContaining('a planted fault'),
  });

  await repair();
  expect(await tablog('quarantine', 'release', '--all')).toMatchObject({ code: 0 });
  expect(JSON.parse((await readFile(auditFile, 'utf8')).trimEnd().split('\n').at(-1)!)).toMatchObject({
    action: 'quarantine.release',
    result: 'done',
    teamId,
  });
  await sleepUntil(async () => (await unlucky.outcomes())[0] === '200', 'it is answered again');
  for (const token of tokens) expect(await new Tenant([server.url], token).outcomes()).toEqual(['200']);
  await unlucky.makeTable();
  expect(outcomeOf(await unlucky.patch('second'))).toBe('200');
  expect(outcomeOf(await lucky.patch('fourth'))).toBe('200');
  expect(await tablog('quarantine', 'list')).toMatchObject({ stdout: 'No team is in quarantine.\n' });

  // The same over HTTP.
  const repairAgain = await plantTableFault(databaseUrl, 'tokens', teamId);
  await append(partition, recordOf(createToken(teamId, randomUUID(), 'held', hashToken(newAccessToken()))));
  await unlucky.untilRefused();
  await repairAgain();
  expect(await release()).toEqual({ teamID: teamId, released: true, error: null });
  await sleepUntil(async () => (await unlucky.outcomes())[0] === '200', 'it is answered again');
  expect(await verify({ DATABASE_URL: databaseUrl })).toMatchObject({ exitCode: 0 });
});
