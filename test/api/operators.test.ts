/** docs/spec/operators.md: teams, plans, tokens and the log over HTTP, for tokens of operators. */
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { promptly, useOwnApi, type Token } from '../support/api.ts';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { unknownTableId } from '../support/tables.ts';

const auditFile = join(tmpdir(), `tablog-operators-${randomUUID()}.log`);
const { api } = useOwnApi({ ...promptly, AUDIT_LOG_FILE: auditFile, RATE_LIMIT_REQUESTS: '10000' });

let operator: Token;
beforeAll(async () => {
  operator = await api().createOperatorToken();
});

afterAll(() => rm(auditFile, { force: true }));

const tokenPattern = /^tablog_[A-Za-z0-9_-]{43}[0-9a-f]{8}$/;
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);

/** The last use of a token is written once a minute. */
const mayBeUsed = {
  asymmetricMatch: (value: unknown) => value === null || (typeof value === 'string' && value.endsWith(':00.000Z')),
};

function clientOf(token: string): Client {
  return new Client(
    api()
      .processes.filter(({ role }) => role !== 'projector')
      .map(({ url }) => url),
    token,
  );
}

function dataOf({ status, json, headers, text }: Answer, expected = 200): any {
  if (status !== expected) throw new Error(`${status} ${text}`);
  expect(headers.get('cache-control')).toBe('no-store');
  return json.data;
}

async function newTeam(name: string): Promise<string> {
  return dataOf(await operator.client.post('/admin/teams', { name }), 201).id;
}

/** The lines that the work adds to the audit log, without their times. */
async function linesOf(work: () => Promise<unknown>): Promise<unknown[]> {
  // Refused tokens get a line once a minute.
  const read = async () =>
    (await readFile(auditFile, 'utf8'))
      .split('\n')
      .filter((line) => line !== '' && !line.includes('token.refused'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const before = (await read()).length;
  await work();
  return (await read()).slice(before).map(({ time: _time, address: _address, ...line }) => line);
}

describe('teams', () => {
  test('a team is created, shown, limited, suspended and resumed', async () => {
    const { client } = operator;
    const made = dataOf(await client.post('/admin/teams', { name: 'acme' }), 201);
    expect(made).toMatchObject({
      id: uuid,
      name: 'acme',
      suspended: false,
      rows: 0,
      rowsMax: null,
      quarantinedSince: null,
    });
    expect(made.quotas.tables).toEqual({ used: 0, max: 10_000, setBy: 'TABLES_MAX' });
    const path = `/admin/teams/${made.id}`;
    expect(dataOf(await client.get(path))).toEqual(made);
    expect(dataOf(await client.get(path.toUpperCase().replace('/ADMIN/TEAMS', '/admin/teams')))).toEqual(made);

    const { token } = dataOf(await client.post(`${path}/tokens`, {}), 201);
    const ofTeam = clientOf(token);
    expect((await ofTeam.post('/tables', { name: 'n', rows: [{ a: 1 }] })).status).toBe(201);
    const limited = dataOf(await client.patch(`${path}/plan`, { rowsMax: 1, logBytesPerDayMax: 5 }));
    expect(limited).toMatchObject({
      rows: 1,
      rowsMax: 1,
      quotas: { rows: { used: 1, max: 1, setBy: 'plan' }, logBytesPerDay: { max: 5, setBy: 'plan' } },
    });
    expect(dataOf(await client.patch(`${path}/plan`, { logBytesPerDayMax: null }))).toMatchObject({
      rowsMax: 1,
      quotas: { logBytesPerDay: { max: null, setBy: null } },
    });

    expect(dataOf(await client.send(`${path}/suspend`, { method: 'POST' })).suspended).toBe(true);
    expect(outcomeOf(await ofTeam.post('/tables', { name: 'n', rows: [] }))).toBe('402 payment_required');
    expect(dataOf(await client.send(`${path}/resume`, { method: 'POST' })).suspended).toBe(false);
    // A process may use its cache for a second.
    await sleepUntil(
      async () => (await ofTeam.post('/tables', { name: 'n', rows: [] })).status === 201,
      'the team may write again',
    );
  });

  test('are listed page by page, in the order of their creation', async () => {
    const made = [];
    for (const name of ['one', 'two', 'two']) made.push(await newTeam(name));
    const seen: { id: string; name: string }[] = [];
    let query = '?limit=2';
    for (;;) {
      const { json } = await operator.client.get(`/admin/teams${query}`);
      expect(json.data.length).toBeLessThanOrEqual(2);
      seen.push(...json.data);
      if (json.continuation === undefined) break;
      query = `?limit=2&continuation=${json.continuation}`;
    }
    expect(seen.map(({ id }) => id)).toEqual(seen.map(({ id }) => id).toSorted());
    expect(seen.slice(-3)).toMatchObject([
      { id: made[0], name: 'one' },
      { id: made[1], name: 'two' },
      { id: made[2], name: 'two' },
    ]);
    expect(dataOf(await operator.client.get('/admin/teams'))).toEqual(seen);
    expect(outcomeOf(await operator.client.get(`/admin/tokens${query}`))).toBe('400 request_validation_error');
  });

  test.each([
    ['GET', '', undefined],
    ['PATCH', '/plan', { rowsMax: 1 }],
    ['POST', '/suspend', undefined],
    ['POST', '/resume', undefined],
    ['GET', '/tokens', undefined],
    ['POST', '/tokens', {}],
  ])('%s of an unknown team is 404 (%s)', async (method, rest, body) => {
    for (const id of [unknownTableId, 'x']) {
      expect(
        outcomeOf(await operator.client.send(`/admin/teams/${id}${rest}`, { method, ...(body && { body }) })),
      ).toBe('404 team_not_found');
    }
  });

  test.each<[string, string, unknown]>([
    ['POST', '/admin/teams', {}],
    ['POST', '/admin/teams', { name: ' ' }],
    ['POST', '/admin/teams', { name: 'a', rows: 1 }],
    ['POST', '/admin/teams', 'x'],
    ['PATCH', '/admin/teams/x/plan', {}],
    ['PATCH', '/admin/teams/x/plan', { rowsMax: -1 }],
    ['PATCH', '/admin/teams/x/plan', { rowMax: 1 }],
    ['POST', '/admin/teams/x/tokens', { expires: 'soon' }],
    ['POST', '/admin/tokens', { readOnly: true }],
    ['POST', '/admin/tokens', { expires: '2000-01-31T00:00:00Z' }],
  ])('%s %s with %j is refused', async (method, path, body) => {
    expect(outcomeOf(await operator.client.send(path, { method, body }))).toBe('400 request_validation_error');
  });

  test('a refusal names the member of the request', async () => {
    const refused = await operator.client.post('/admin/tokens', { expires: '2000-01-31T00:00:00Z' });
    expect(refused.json.error.message).toBe('expires: that time has passed already');
  });
});

describe('tokens', () => {
  const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  /** A token as lists show it: with its last characters and its time of creation. */
  function listedAs({ token, ...shown }: { readonly token: string }): object {
    return { ...shown, created: moment, endsIn: token.slice(-6), revoked: false, lastUsed: mayBeUsed };
  }

  test("a team's tokens are created, used, listed and revoked", async () => {
    const { client } = operator;
    const id = await newTeam('tokens');
    const path = `/admin/teams/${id}/tokens`;
    const plain = dataOf(await client.post(path, { name: 'plain' }), 201);
    expect(plain).toEqual({
      id: uuid,
      name: 'plain',
      token: expect.stringMatching(tokenPattern),
      expires: null,
      readOnly: false,
      appID: null,
    });
    const limited = dataOf(
      await client.post(path, { readOnly: true, appID: 'shop', expires: '2999-01-31T02:00:00+02:00' }),
      201,
    );
    expect(limited).toMatchObject({
      name: expect.stringMatching(new RegExp(`^made .*Z, ends in ${limited.token.slice(-6)}$`)),
      expires: '2999-01-31T00:00:00.000Z',
      readOnly: true,
      appID: 'shop',
    });
    expect((await clientOf(plain.token).post('/tables', { name: 'n', rows: [] })).status).toBe(201);
    expect(outcomeOf(await clientOf(limited.token).post('/tables', { name: 'n', rows: [] }))).toBe('403 forbidden');
    const listed = dataOf(await client.get(path));
    expect(listed).toEqual([plain, limited].map(listedAs));
    const age = Date.now() - Date.parse(listed[0].created);
    expect(Math.abs(age)).toBeLessThan(3_600_000);
    const [first] = dataOf(await client.get(`${path}?limit=1`));
    expect(first.id).toBe(plain.id);

    for (let time = 0; time < 2; time += 1) expect((await client.delete(`/admin/tokens/${plain.id}`)).text).toBe('{}');
    await sleepUntil(
      async () => outcomeOf(await clientOf(plain.token).get('/tables')) === '404 request_error',
      'the token is refused',
    );
    expect(dataOf(await client.get(path))[0]).toMatchObject({ id: plain.id, revoked: true });
    expect((await clientOf(limited.token).get('/tables')).status).toBe(200);
  });

  test("operators' tokens are created, used, listed and revoked", async () => {
    const { client } = operator;
    const made = dataOf(await client.post('/admin/tokens', { name: 'console', expires: '2999-01-31T00:00:00Z' }), 201);
    expect(made).toEqual({
      id: uuid,
      name: 'console',
      token: expect.stringMatching(tokenPattern),
      expires: '2999-01-31T00:00:00.000Z',
    });
    expect((await clientOf(made.token).get('/admin/teams')).status).toBe(200);
    expect(dataOf(await client.get('/admin/tokens'))).toContainEqual(listedAs(made));
    await client.delete(`/admin/tokens/${made.id}`);
    await sleepUntil(
      async () => outcomeOf(await clientOf(made.token).get('/admin/teams')) === '404 request_error',
      'the token is refused',
    );
    expect(dataOf(await client.get('/admin/tokens'))).toContainEqual({ ...listedAs(made), revoked: true });
    expect((await client.get('/admin/teams')).status).toBe(200);
  });

  test('that have expired or do not exist are refused like all wrong tokens', async () => {
    const expired = await api().createOperatorToken(0);
    for (const path of ['/admin/teams', '/tables'])
      expect(outcomeOf(await expired.client.get(path))).toBe('404 request_error');
    for (const id of [unknownTableId, 'x'])
      expect(outcomeOf(await operator.client.delete(`/admin/tokens/${id}`))).toBe('404 token_not_found');
  });

  test('the token of a team does not open routes of operators, and the token of an operator opens no others', async () => {
    const team = await api().createTeam();
    for (const { client } of [
      team,
      await team.createToken({ readOnly: true }),
      await team.createToken({ appId: 'a' }),
    ]) {
      expect(await client.get('/admin/teams')).toMatchObject({
        status: 403,
        json: { error: { type: 'forbidden', message: 'This path needs a token of an operator.' } },
      });
      expect(outcomeOf(await client.post('/admin/teams', { name: 'mine' }))).toBe('403 forbidden');
    }
    for (const path of ['/tables', `/tables/${unknownTableId}`, '/jobs/x']) {
      const answer = await operator.client.get(path);
      expect(answer).toMatchObject({
        status: 403,
        json: {
          error: {
            type: 'forbidden',
            message: 'This token belongs to an operator: it works only on paths under /admin.',
          },
        },
      });
      // Limits of teams do not apply to operators.
      expect(answer.headers.has('ratelimit')).toBe(false);
    }
  });
});

test('each process shows all partitions, and no team is in quarantine', async () => {
  const team = await api().createTeam();
  await team.client.post('/tables', { name: 'n', rows: [{ a: 1 }] });
  const clients = api()
    .processes.filter(({ role }) => role !== 'projector')
    .map(({ url }) => new Client(url, operator.client.token));
  for (const client of clients) {
    const partitions = dataOf(await client.get('/admin/partitions'));
    expect(partitions.map(({ partition }: { partition: number }) => partition)).toEqual(
      Array.from({ length: 12 }, (_, n) => n),
    );
    expect(partitions).toEqual(
      partitions.map(() => expect.objectContaining({ behind: 0, halted: null, contradicted: false, quarantined: [] })),
    );
    expect(partitions).toContainEqual(
      expect.objectContaining({ logEnd: expect.stringMatching(/^[1-9]/), projected: expect.stringMatching(/^[1-9]/) }),
    );
    expect(dataOf(await client.get('/admin/quarantine'))).toEqual([]);
  }
  const released = await operator.client.send(`/admin/quarantine/${team.id}/release`, { method: 'POST' });
  expect(dataOf(released)).toEqual({ teamID: team.id, released: true, error: null });
  expect(outcomeOf(await operator.client.send(`/admin/quarantine/${unknownTableId}/release`, { method: 'POST' }))).toBe(
    '404 team_not_found',
  );
});

test('each change has one line in the audit log with the token of the operator, and a read has none', async () => {
  const { client } = operator;
  const who = { operatorTokenId: operator.id };
  let id = '';
  expect(
    await linesOf(async () => {
      id = await newTeam('audited');
    }),
  ).toEqual([{ action: 'team.create', result: 'done', ...who, teamId: id, name: 'audited' }]);
  const path = `/admin/teams/${id}`;
  let made = { id: '', token: '' };
  const created = await linesOf(async () => {
    made = (await client.post(`${path}/tokens`, { name: 'n' })).json.data;
  });
  const token = { ...who, tokenId: made.id, name: 'n' };
  expect(created).toEqual([
    { action: 'token.create', result: 'done', ...token, teamId: id, readOnly: false, appId: null, expiresAt: null },
  ]);
  expect(await linesOf(() => client.delete(`/admin/tokens/${made.id}`))).toEqual([
    { action: 'token.revoke', result: 'done', ...token, teamId: id },
  ]);
  const other = await linesOf(async () => {
    made = (await client.post('/admin/tokens', { name: 'n' })).json.data;
  });
  expect(other).toEqual([
    { action: 'token.create', result: 'done', ...who, tokenId: made.id, operator: true, name: 'n', expiresAt: null },
  ]);
  expect(await linesOf(() => client.delete(`/admin/tokens/${made.id}`))).toEqual([
    { action: 'token.revoke', result: 'done', ...who, tokenId: made.id, operator: true, name: 'n' },
  ]);
  expect(await linesOf(() => client.patch(`${path}/plan`, { rowsMax: 7 }))).toEqual([
    { action: 'plan.set', result: 'done', ...who, teamId: id, rowsMax: 7 },
  ]);
  for (const action of ['suspend', 'resume']) {
    expect(await linesOf(() => client.send(`${path}/${action}`, { method: 'POST' }))).toEqual([
      { action: `plan.${action}`, result: 'done', ...who, teamId: id },
    ]);
  }
  expect(await linesOf(() => client.post('/admin/tokens', { name: 'n', expires: '2000-01-31T00:00:00Z' }))).toEqual([
    {
      action: 'token.create',
      result: 'request_validation_error',
      ...who,
      tokenId: uuid,
      operator: true,
      name: 'n',
      expiresAt: '2000-01-31T00:00:00.000Z',
    },
  ]);
  expect(await linesOf(() => client.send('/admin/teams/x/suspend', { method: 'POST' }))).toEqual([
    { action: 'plan.suspend', result: 'team_not_found', ...who },
  ]);
  expect(
    await linesOf(async () => {
      for (const shown of [
        '/admin/teams',
        path,
        `${path}/tokens`,
        '/admin/tokens',
        '/admin/partitions',
        '/admin/quarantine',
      ])
        await client.get(shown);
    }),
  ).toEqual([]);
  expect(await readFile(auditFile, 'utf8')).not.toContain(made.token);
});
