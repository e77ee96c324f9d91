/**
 * SQL ends its process, repeatedly. Filters, sorts, groups and exports of others never fail, and neither does the SQL
 * of other teams.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { isFull } from '../scale.ts';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { createDatabase } from '../support/postgres.ts';
import { findQueryProcess } from '../support/query-processes.ts';
import { freePort, sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { runTablog } from '../support/tablog.ts';
import { createTable } from '../support/tables.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

interface Started {
  readonly server: TestServer;
  /** Clients of different teams. */
  readonly clients: readonly Client[];
}

async function start(teams: number, environment: Readonly<Record<string, string>>): Promise<Started> {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const server = await startServer({ databaseUrl: database.url, environment: { DISK_FREE_MIN: '0', ...environment } });
  closers.push(() => server.stop());
  const output = async (...args: readonly string[]): Promise<string> =>
    (await runTablog(args, { DATABASE_URL: database.url })).stdout.trim();
  const clients: Client[] = [];
  for (let n = 0; n < teams; n += 1) {
    await output('teams', 'create', `team ${n}`);
    clients.push(new Client(server.url, await output('tokens', 'create', '--team', `team ${n}`)));
  }
  return { server, clients };
}

const ask = (client: Client, sql: string): Promise<Answer> => client.post('/query', { sql });
const endless = 'SELECT count(*) FROM range(1000000000000)';
const outcome = async (client: Client, sql: string): Promise<string> => outcomeOf(await ask(client, sql));

async function metric({ url }: TestServer, name: string, engine: string): Promise<number> {
  return (
    sumOf(
      parseMetrics(await (await fetch(`${url}/metrics`)).text()).filter(({ labels }) => labels['engine'] === engine),
      `tablog_query_${name}`,
    ) ?? 0
  );
}

/** The n-th process for SQL, once it has received the queries that waited for it. */
async function sqlProcess(server: TestServer, n: number): Promise<number> {
  await sleepUntil(
    async () =>
      (await metric(server, 'engine_starts', 'sql')) === n &&
      (await metric(server, 'engine_resident_bytes', 'sql')) > 0,
    `the process for SQL has started ${n} times`,
  );
  return (await findQueryProcess(server.process.pid!, 'sql'))!;
}

/**
 * Sends queries of all other kinds, repeatedly, until the returned function is called. That function resolves to their
 * distinct outcomes.
 */
async function askNeighbour(client: Client): Promise<() => Promise<readonly string[]>> {
  const { path, id } = await createTable(
    client,
    Array.from({ length: 1000 }, (_, n) => ({ n, even: n % 2 === 0 })),
  );
  const kinds = [
    () => client.get(`${path}?filter={"column":"n","op":"gte","value":500}&limit=5`),
    () => client.get(`${path}?sort=-n&limit=5`),
    () => client.get(`/tables/${id}/export?format=csv`),
    () => client.post(`/tables/${id}/query`, { groupBy: ['even'], aggregate: [{ op: 'count' }] }),
  ];
  const outcomes = new Set<string>();
  let goesOn = true;
  const asking = Promise.all(
    kinds.map(async (kind) => {
      while (goesOn) outcomes.add(outcomeOf(await kind()));
    }),
  );
  return async () => {
    goesOn = false;
    await asking;
    return [...outcomes];
  };
}

test('a crash of the process for SQL convicts the team whose SQL was alone, and no query of another kind fails', async () => {
  const {
    server,
    clients: [hostile, victim],
  } = await start(2, {});
  const stop = await askNeighbour(victim!);
  expect(await outcome(hostile!, 'SELECT 1')).toBe('200');
  const answer = ask(hostile!, endless);
  await sleepUntil(async () => (await outcome(victim!, 'SELECT 1')) === '200', 'SQL of others is answered beside it');
  // This answer comes last, so the endless SQL has begun, and is alone.
  process.kill(await sqlProcess(server, 1), 'SIGSEGV');
  expect(outcomeOf(await answer)).toBe('400 limit_exceeded');
  const refused = await ask(hostile!, 'SELECT 1');
  expect([outcomeOf(refused), Number(refused.headers.get('retry-after')) > 500]).toEqual(['429 rate_limited', true]);
  expect(await outcome(victim!, 'SELECT 1')).toBe('200');
  expect(await stop()).toEqual(['200']);
  expect(await metric(server, 'engine_starts', 'queries')).toBe(1);
});

test('the team whose SQL ends a process alone is convicted, and teams beside it in a crash are answered', async () => {
  const {
    server,
    clients: [a, b, other],
  } = await start(3, { QUERY_TIMEOUT_MS: '15000' });
  await Promise.all([a!, b!, other!].map(async (client) => expect(await outcome(client, 'SELECT 1')).toBe('200')));
  const answers = [a!, b!].map((client) => ask(client, endless));
  for (const client of [a!, b!]) await ask(client, 'SELECT 1');
  process.kill(await sqlProcess(server, 1), 'SIGSEGV');
  // The SQL of one of the two now runs alone.
  const second = await sqlProcess(server, 2);
  const waiting = ask(other!, 'SELECT 1');
  process.kill(second, 'SIGSEGV');
  const outcomes = await Promise.all(answers.map(async (answer) => outcomeOf(await answer)));
  expect(outcomes.toSorted()).toEqual(['400 limit_exceeded', '408 query_timeout']);
  expect(outcomeOf(await waiting)).toBe('200');
  const [convicted, cleared] = outcomes[0] === '408 query_timeout' ? [b!, a!] : [a!, b!];
  expect([await outcome(convicted, 'SELECT 1'), await outcome(cleared, 'SELECT 1')]).toEqual([
    '429 rate_limited',
    '200',
  ]);
});

test('when an operator kills the SQL process, running SQL is run again, and no team is penalised', async () => {
  const {
    server,
    clients: [client],
  } = await start(1, { QUERY_TIMEOUT_MS: '3000' });
  expect(await outcome(client!, 'SELECT 1')).toBe('200');
  const answer = ask(client!, endless);
  await ask(client!, 'SELECT 1');
  process.kill(await sqlProcess(server, 1), 'SIGKILL');
  expect(outcomeOf(await answer)).toBe('408 query_timeout');
  expect(await outcome(client!, 'SELECT 1')).toBe('200');
});

/** Whether the kernel first shares processors between sessions. */
const groupsSessions = existsSync('/proc/self/autogroup');

/** The leader of a process's session, and the priority of the session; null: it has none. */
async function sessionOf(pid: number): Promise<{ readonly leader: number; readonly niceness: number | null }> {
  const leader = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]!.split(' ')[3]);
  const group = groupsSessions ? await readFile(`/proc/${pid}/autogroup`, 'utf8') : '';
  return { leader, niceness: group === '' ? null : Number(group.split(' nice ')[1]) };
}

test('the processes have no secrets in their environment, low priority, and are the first to go when memory is short', async () => {
  const secrets = { S3_SECRET_ACCESS_KEY: 'secret', SOME_TOKEN: 'secret' };
  const {
    server,
    clients: [client],
  } = await start(1, secrets);
  const { path } = await createTable(client!, [{ n: 1 }]);
  await client!.get(`${path}?sort=n`);
  await ask(client!, 'SELECT 1');
  for (const [kind, niceness, bytesMax] of [
    ['queries', 5, 2_852_126_720],
    ['sql', 15, 2_046_820_352],
  ] as const) {
    const pid = await findQueryProcess(server.process.pid!, kind);
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    const names = environment
      .split('\0')
      .filter((line) => line !== '')
      .map((line) => line.split('=')[0]);
    expect(
      names.filter(
        (name) =>
          !/^(PATH|PWD|SHLVL|_|HOME|TMPDIR|TZ|LANG|LC_ALL|UV_THREADPOOL_SIZE|NODE_.*|OLDPWD|SSL_CERT_\w+|PG(?!PASSWORD).*)$/.test(
            name!,
          ),
      ),
    ).toEqual([]);
    expect(environment).not.toContain('secret');
    const threads = await readdir(`/proc/${pid}/task`);
    const priorities = await Promise.all(
      threads.map(async (thread) =>
        Number((await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')).split(') ')[1]!.split(' ')[16]),
      ),
    );
    expect([...new Set(priorities)]).toEqual([niceness]);
    if (kind === 'sql')
      expect(await sessionOf(pid!)).toEqual({ leader: pid, niceness: groupsSessions ? niceness : null });
    expect((await readFile(`/proc/${pid}/oom_score_adj`, 'utf8')).trim()).toBe('900');
    expect(await readFile(`/proc/${pid}/limits`, 'utf8')).toMatch(new RegExp(`Max data size +${bytesMax} `));
  }
});

test('if a process cannot be started, a problem is reported, and only its queries fail', async () => {
  const taken = createServer();
  const port = await freePort();
  await once(taken.listen(port, '127.0.0.1'), 'listening');
  const {
    server,
    clients: [client],
  } = await start(1, { QUERY_PORT: String(port) });
  const { path } = await createTable(client!, [{ n: 1 }]);
  expect(outcomeOf(await client!.get(`${path}?sort=n`))).toBe('503 service_unavailable');
  expect(await outcome(client!, 'SELECT 1')).toBe('200');
  const ready = await fetch(`${server.url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    {
      data: {
        status: 'degraded',
        problems: ['The query process for filters, sorts, groups and exports could not be started.'],
      },
    },
  ]);
  expect([
    await metric(server, 'engine_failed_starts', 'queries'),
    await metric(server, 'engine_failed_starts', 'sql'),
  ]).toEqual([1, 0]);
  taken.close();
  await once(taken, 'close');
  expect(outcomeOf(await client!.get(`${path}?sort=n`))).toBe('200');
  expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ data: { status: 'ok' } });
});

const hostile = [
  'SELECT reservoir_quantile(range, 0.5, 2000000000) FROM range(10)',
  "SELECT length(repeat('x', 1500000000))",
  "SELECT json_merge_patch(repeat('{\"a\":', 200000) || '1' || repeat('}', 200000), '{}')",
  ...(isFull
    ? [
        "SELECT length(repeat('x', 500000000))",
        "SELECT length(lpad('a', 1569325056, 'b'))",
        "SELECT like_escape(repeat('a', 300000), repeat('%a', 300000), '')",
      ]
    : []),
];

test('hostile SQL fails only for its own team, and all other queries are answered', async () => {
  const { server, clients } = await start(hostile.length + 1, { QUERY_TIMEOUT_MS: '5000' });
  const victim = clients.at(-1)!;
  const stop = await askNeighbour(victim);
  for (const [at, sql] of hostile.entries()) {
    const answer = ask(clients[at]!, sql);
    const beside = await outcome(victim, 'SELECT 1');
    expect([sql, outcomeOf(await answer), beside]).toEqual([
      sql,
      expect.stringMatching(/^(400 \w+|408 query_timeout)$/),
      '200',
    ]);
    expect(await outcome(victim, 'SELECT 1')).toBe('200');
  }
  expect(await stop()).toEqual(['200']);
  expect(await metric(server, 'engine_starts', 'queries')).toBe(1);
});
