/**
 * Quotas of a team (docs/reference/limits.md), by settings and by plans. Quotas of rows and files have tests of their
 * own.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Plan } from '../../commands/plans.ts';
import { openBody } from '../../commands/receive-block.ts';
import { encodeEvent } from '../../src/language/events/event-codec.ts';
import { partitionOf } from '../../src/log/partition.ts';
import { LogBytes } from '../../src/api/usage/log-bytes.ts';
import { dayOf, readLogBytes } from '../../src/api/usage/log-bytes-notes.ts';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { complete, postUpload, picture, sendBytes } from '../support/uploads.ts';

const uploadSize = 1000;
const logBytesMax = 1_000_000;
const { api } = useOwnApi({
  TABLES_MAX: '3',
  STASHES_MAX: '3',
  BODIES_OPEN_MAX: '3',
  UPLOAD_SIZE_MAX_BYTES: String(uploadSize),
  UPLOADS_OPEN_BYTES_MAX: String(3 * uploadSize),
  MAINTENANCE_INTERVAL_MS: '3600000',
  LOG_BYTES_PER_DAY: String(logBytesMax),
});
const operator = useOperator({ api });

let team: Team;
beforeEach(async () => {
  team = await api().createTeam();
});

/** Several blocks. */
const large = JSON.stringify(Array.from({ length: 1500 }, (_, n) => ({ n, padding: 'x'.repeat(1000) })));
const messageOf = ({ json }: Answer): string => json.error.message;

describe.each<
  [
    string,
    one: (name: string) => Promise<Answer>,
    free: (name: string) => Promise<unknown>,
    success: string,
    plan: (max: number | null) => Plan,
    noun: string,
  ]
>([
  [
    'tables',
    (name) => team.client.post('/tables', { name, rows: [] }),
    async (name) => {
      const { data } = (await team.client.get('/tables')).json as { data: { id: string; name: string }[] };
      return team.client.delete(`/tables/${data.find((table) => table.name === name)!.id}`);
    },
    '201',
    (tablesMax) => ({ tablesMax }),
    'tables',
  ],
  [
    'stashes',
    (name) => team.client.put(`/stashes/${name}/1`, [{ a: 1 }]),
    (name) => team.client.delete(`/stashes/${name}`),
    '200',
    (stashesMax) => ({ stashesMax }),
    'stashes',
  ],
])('%s', (_name, one, free, success, plan, noun) => {
  const refused = '400 limit_exceeded';

  test('exactly as many of several simultaneous requests succeed as there is room for, for each team', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => one(`n${at}`)));
    expect(answers.map(outcomeOf).toSorted()).toEqual(
      [...Array(3).fill(success), ...Array(5).fill(refused)].toSorted(),
    );
    const answer = answers.find(({ status }) => status === 400)!;
    expect(messageOf(answer)).toMatch(`the team has 3 ${noun} and may have at most 3: delete some`);
    team = await api().createTeam();
    expect(outcomeOf(await one('n'))).toBe(success);
  });

  test('a deletion makes room for one, however often it is sent', async () => {
    for (const name of ['a', 'b', 'c']) await one(name);
    expect(outcomeOf(await one('d'))).toBe(refused);
    await free('b');
    expect([outcomeOf(await one('e')), outcomeOf(await one('f'))]).toEqual([success, refused]);
  });

  test('a plan allows more or less than the setting, until it sets no limit', async () => {
    await team.setPlan(plan(4));
    for (const name of ['a', 'b', 'c', 'd']) expect(outcomeOf(await one(name))).toBe(success);
    const answer = await one('e');
    expect(outcomeOf(answer)).toBe('402 payment_required');
    expect(messageOf(answer)).toBe(`the team's plan allows 4 ${noun} and 4 are in use`);
    await team.setPlan(plan(0));
    expect(messageOf(await one('e'))).toBe(`the team's plan allows 0 ${noun} and 4 are in use`);
    await team.setPlan(plan(null));
    expect(messageOf(await one('e'))).toMatch(`the team has 4 ${noun} and may have at most 3`);
  });
});

test('an existing stash accepts chunks even if there is no room for another stash', async () => {
  for (const name of ['a', 'b', 'c']) await team.client.put(`/stashes/${name}/1`, [{ a: 1 }]);
  expect(outcomeOf(await team.client.put('/stashes/a/2', [{ a: 1 }]))).toBe('200');
});

describe('bytes of open uploads', () => {
  const create = (): Promise<Answer> => team.client.post('/apps/shop/uploads', picture);

  test('each upload counts with its maximum size until it is completed', async () => {
    const first = await postUpload(team.client);
    for (let others = 0; others < 2; others += 1) await postUpload(team.client);
    const answer = await create();
    expect(outcomeOf(answer)).toBe('400 limit_exceeded');
    expect(messageOf(answer)).toMatch('the team has 3000 bytes of open uploads and may have at most 3000');
    await sendBytes(first, 'bytes');
    expect(outcomeOf(await complete(team.client, first))).toBe('200');
    expect([outcomeOf(await create()), outcomeOf(await create())]).toEqual(['200', '400 limit_exceeded']);
  });

  test('a plan overrides the setting, also for open uploads', async () => {
    await team.setPlan({ openUploadBytesMax: 4 * uploadSize });
    for (let uploads = 0; uploads < 4; uploads += 1) expect(outcomeOf(await create())).toBe('200');
    expect(messageOf(await create())).toBe("the team's plan allows 4000 bytes of open uploads and 4000 are in use");
    await team.setPlan({ openUploadBytesMax: 1e6, openUploadsMax: 4 });
    expect(messageOf(await create())).toBe("the team's plan allows 4 open uploads and 4 are in use");
  });
});

describe('open bodies', () => {
  const openBodies = async (): Promise<number> => (await operator().queries.teams.team(team.id))!.openBodies;
  const create = (): Promise<Answer> => team.client.post('/tables?name=n', large);

  /** Opens a body and leaves it open, like a process that is killed while it appends the blocks. */
  async function leaveOpen(): Promise<void> {
    const event = encodeEvent(
      { commandId: randomUUID(), notAfter: null, requestDigest: null },
      openBody(team.id, randomUUID(), { openMax: 100 }),
    );
    await operator().log.append(partitionOf(team.id, operator().log.partitions), event);
  }

  test('incomplete bodies count, and bodies that are still arriving do not', async () => {
    for (let arrived = 0; arrived < 2; arrived += 1) expect(outcomeOf(await create())).toBe('201');
    expect(await openBodies()).toBe(0);
    for (let left = 1; left <= 3; left += 1) {
      await leaveOpen();
      await sleepUntil(async () => (await openBodies()) === left, 'the body is open');
    }
    const refused = await create();
    expect(outcomeOf(refused)).toBe('400 limit_exceeded');
    expect(messageOf(refused)).toMatch('the team has 3 open bodies and may have at most 3: wait');
    expect(outcomeOf(await team.client.post('/tables', { name: 'small', rows: [{ a: 1 }] }))).toBe('201');
    await team.setPlan({ openBodiesMax: 4, tablesMax: 100 });
    expect(outcomeOf(await create())).toBe('201');
    // A body that is refused for another reason is no longer open either.
    expect(outcomeOf(await team.client.post('/tables/01890000-0000-7000-8000-000000000000/rows', large))).toBe(
      '404 table_not_found',
    );
    expect(outcomeOf(await create())).toBe('201');
    expect(await openBodies()).toBe(3);
    await team.setPlan({ openBodiesMax: 3 });
    for (const answer of [await create(), await team.client.put('/stashes/s/1', large)]) {
      expect(outcomeOf(answer)).toBe('402 payment_required');
      expect(messageOf(answer)).toBe("the team's plan allows 3 open bodies and 3 are in use");
    }
    // One of the open bodies may belong to an earlier try.
    const keyed = (name: string): Promise<Answer> =>
      team.client.post('/tables?name=n', large, { 'idempotency-key': name });
    const unknown = await keyed('k');
    expect(outcomeOf(unknown)).toBe('503 outcome_unknown');
    expect(messageOf(unknown)).toMatch("the team's plan allows 3 open bodies and 3 are in use. An earlier try");
    await team.setPlan({ openBodiesMax: 4 });
    const created = await keyed('k');
    expect(outcomeOf(created)).toBe('201');
    await team.setPlan({ openBodiesMax: 3 });
    expect(await keyed('k')).toMatchObject({ status: 201, json: created.json });
  });
});

describe('bytes of the log in a day', () => {
  const rowBytes = 150_000;
  const refused =
    /^the team has (\d+) bytes of the log today and may have at most 1000000: wait until the next day \(UTC\)$/;
  /** Adds a row that cannot be compressed. */
  const add = (path: string): Promise<Answer> =>
    team.client.post(path, [{ a: randomBytes(rowBytes).toString('base64') }]);
  const notedOf = async (): Promise<number> =>
    (await readLogBytes(operator().database.pool, dayOf(operator().log.now()), [team.id]))[0]!.used;

  /** Adds rows until all processes give this outcome; resolves to the last answer, and to how many rows were added. */
  async function addUntil(path: string, outcome: string): Promise<{ readonly answer: Answer; readonly added: number }> {
    let answer: Answer;
    let added = 0;
    let inARow = 0;
    await sleepUntil(async () => {
      answer = await add(path);
      if (answer.status === 201) added += 1;
      inARow = outcomeOf(answer) === outcome ? inARow + 1 : 0;
      return inARow === 2 * api().processes.length;
    }, outcome);
    return { answer: answer!, added };
  }

  test('a team that has used up the setting can read, but no longer write', async () => {
    const { path, rowIds } = await createTable(team.client, [{ a: 'x' }]);
    const retried = (value: string): Promise<Answer> =>
      team.client.send(`${path}/${rowIds[0]}`, {
        method: 'PATCH',
        body: { a: value },
        headers: { 'idempotency-key': 'patched before' },
      });
    const patched = await retried('p');
    expect(outcomeOf(patched)).toBe('200');
    const { answer, added } = await addUntil(path, '400 limit_exceeded');
    expect(await retried('p')).toMatchObject({ status: 200, json: patched.json });
    expect(outcomeOf(await retried('q'))).toBe('400 idempotency_key_reused');
    const unknown = await team.client.send(`${path}/${rowIds[0]}`, {
      method: 'PATCH',
      body: { a: 'r' },
      headers: { 'idempotency-key': 'of no outcome' },
    });
    expect(outcomeOf(unknown)).toBe('503 outcome_unknown');
    expect(messageOf(unknown)).toMatch(
      /^the team has \d+ bytes of the log today and may have at most 1000000: wait until the next day \(UTC\)\. An earlier try/,
    );
    expect(unknown.headers.get('tablog-turned-away')).toBe('limit_exceeded');
    expect((await team.client.get(`/jobs/${unknown.headers.get('job-id')}`)).json.data.status).toBe('running');
    const [, used] = refused.exec(messageOf(answer))!;
    expect(Number(used)).toBeGreaterThanOrEqual(logBytesMax);
    await sleepUntil(async () => (await notedOf()) >= added * rowBytes, 'all is noted');
    expect(await notedOf()).toBeLessThan((added + 1) * rowBytes * 1.1);
    const others = [
      await team.client.patch(`${path}/${rowIds[0]}`, { a: 'y' }),
      await team.client.delete(`${path}/${rowIds[0]}`),
      await team.client.post(path, large),
    ];
    expect(others.map(outcomeOf)).toEqual(others.map(() => '400 limit_exceeded'));
    expect(outcomeOf(await team.client.get(path))).toBe('200');
    team = await api().createTeam();
    expect(outcomeOf(await team.client.post('/tables', { name: 'of another team', rows: [] }))).toBe('201');
  });

  test('a plan allows less or more, until it sets no limit', async () => {
    const { path } = await createTable(team.client, [{ a: 'x' }]);
    await team.setPlan({ logBytesPerDayMax: 10 });
    const { answer } = await addUntil(path, '402 payment_required');
    expect(messageOf(answer)).toMatch(/^the team's plan allows 10 bytes of the log today and \d+ are in use$/);
    await team.setPlan({ logBytesPerDayMax: 1000 * logBytesMax });
    await addUntil(path, '201');
    await sleepUntil(async () => {
      expect(outcomeOf(await add(path))).toBe('201');
      return (await notedOf()) > logBytesMax;
    }, 'more is noted than the setting allows');
    await team.setPlan({ logBytesPerDayMax: null });
    expect(messageOf((await addUntil(path, '400 limit_exceeded')).answer)).toMatch(refused);
  });

  test('the counts of all processes add up, and a new day begins at 0', async () => {
    let now = Date.UTC(2001, 0, 1);
    const { pool } = operator().database;
    const open = (): LogBytes =>
      new LogBytes({
        pool,
        now: () => now,
        settingMax: 100,
        lookAtDisks: null,
        logger: { warn: () => undefined },
        interval: 20,
      });
    const used = async (at: number): Promise<number> => (await readLogBytes(pool, dayOf(at), [team.id]))[0]!.used;
    const [one, two] = [open(), open()];
    try {
      one.add(team.id, { log: 60 });
      two.add(team.id, { log: 50 });
      await sleepUntil(
        () =>
          [one, two].every((each) => each.refusalOf(team.id)?.message.startsWith('the team has 110 bytes') === true),
        'both know of both',
      );
      const before = now;
      // The time is so much later that the counts of the first day are deleted, which shows that the new day has begun.
      now += 90 * 24 * 3_600_000;
      expect(one.refusalOf(team.id)).toBeNull();
      await sleepUntil(async () => (await used(before)) === 0, 'the day before is forgotten');
      one.add(team.id, { log: 100 });
      await sleepUntil(() => one.refusalOf(team.id) !== null, 'the new day is used up too');
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
    expect(await used(now)).toBe(100);
  });
});

describe('the share of a disk in a day', () => {
  const logger = { warn: () => undefined };
  const rooms = { left: 0 };
  const open = (): LogBytes =>
    new LogBytes({
      pool: operator().database.pool,
      now: () => operator().log.now(),
      settingMax: undefined,
      logger,
      interval: 20,
      lookAtDisks: async () => [{ hasTables: true, hasFiles: true, left: rooms.left }],
    });

  test('a team takes no more than is left, through any process and after a restart, and stops no other team', async () => {
    const other = await api().createTeam();
    rooms.left = 1000;
    const [one, two] = [open(), open()];
    try {
      one.add(team.id, { tables: 700 });
      two.add(team.id, { files: 400 });
      one.add(other.id, { tables: 100 });
      const words =
        "the team has taken about 1 MiB of the service's disk today, and 0 bytes are left for all teams: wait until the next day (UTC)";
      for (const each of [one, two]) {
        for (const what of ['tables', 'files'] as const)
          await sleepUntil(() => each.refusalOfShare(team.id, what)?.message === words, `refused: ${what}`);
      }
      expect(one.refusalOfShare(other.id, 'tables')).toBeNull();
      expect(one.refusalOf(team.id)).toBeNull();
    } finally {
      await Promise.all([one.close(), two.close()]);
    }
    const again = open();
    try {
      await sleepUntil(() => again.refusalOfShare(team.id, 'tables') !== null, 'the counts are those of before');
      rooms.left = 1100;
      await sleepUntil(() => again.refusalOfShare(team.id, 'tables') === null, 'there is room again');
      rooms.left = 99;
      await sleepUntil(
        () => again.refusalOfShare(other.id, 'tables') !== null,
        'less is left than the other team took',
      );
    } finally {
      await again.close();
    }
  });
});

test('/metrics shows refusals and the use of quotas', async () => {
  const scrape = async () => {
    const texts = await Promise.all(api().processes.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
    return texts.map(parseMetrics);
  };
  const refusals = async (): Promise<number> => {
    return (await scrape()).reduce(
      (sum, samples) => sum + sumOf(samples, 'tablog_quota_refusals_total', { quota: 'tables' })!,
      0,
    );
  };
  await team.setPlan({ tablesMax: 1 });
  await team.client.post('/tables', { name: 'a', rows: [] });
  const before = await refusals();
  for (let times = 0; times < 2; times += 1) await team.client.post('/tables', { name: 'b', rows: [] });
  expect(await refusals()).toBe(before + 2);
  for (const samples of await scrape()) {
    const used = ['all', 'largest'].map((teams) => sumOf(samples, 'tablog_quota_used', { quota: 'tables', teams })!);
    expect(used[1]).toBeGreaterThan(0);
    expect(used[0]).toBeGreaterThanOrEqual(used[1]!);
    expect(
      sumOf(samples, 'tablog_quota_used', { quota: 'log_bytes_per_day', teams: 'largest' }),
    ).toBeGreaterThanOrEqual(logBytesMax);
  }
});
