/** Quotas of a team (docs/limits.md), by settings and by plans; those of rows and files have tests of their own. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Plan } from '../../commands/plans.ts';
import { useOwnApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { complete, createUpload, picture, sendBytes } from '../support/uploads.ts';

const uploadSize = 1000;
const { api } = useOwnApi({
  TABLES_MAX: '3', STASHES_MAX: '3', BODIES_OPEN_MAX: '3', UPLOAD_SIZE_MAX_BYTES: String(uploadSize), UPLOADS_OPEN_BYTES_MAX: String(3 * uploadSize),
  MAINTENANCE_INTERVAL_MS: '3600000',
});
const operator = useOperator({ api });

let team: Team;
beforeEach(async () => {
  team = await api().createTeam();
});

/** Several blocks. */
const large = JSON.stringify(Array.from({ length: 1500 }, (_, n) => ({ n, padding: 'x'.repeat(1000) })));
const messageOf = ({ json }: Answer): string => json.error.message;

describe.each<[
  string, one: (name: string) => Promise<Answer>, free: (name: string) => Promise<unknown>, success: string, plan: (max: number | null) => Plan, noun: string,
]>([
  [
    'tables', (name) => team.client.post('/tables', { name, rows: [] }),
    async (name) => {
      const { data } = (await team.client.get('/tables')).json as { data: { id: string; name: string }[] };
      return team.client.delete(`/tables/${data.find((table) => table.name === name)!.id}`);
    },
    '201', (tablesMax) => ({ tablesMax }), 'tables',
  ],
  [
    'stashes', (name) => team.client.put(`/stashes/${name}/1`, [{ a: 1 }]), (name) => team.client.delete(`/stashes/${name}`), '200',
    (stashesMax) => ({ stashesMax }), 'stashes',
  ],
])('%s', (_name, one, free, success, plan, noun) => {
  const refused = '400 limit_exceeded';

  test('of requests at once as many pass as there is room for, and for each team', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => one(`n${at}`)));
    expect(answers.map(outcomeOf).toSorted()).toEqual([...Array(3).fill(success), ...Array(5).fill(refused)].toSorted());
    const answer = answers.find(({ status }) => status === 400)!;
    expect(messageOf(answer)).toMatch(`the team has 3 ${noun} and may have at most 3: delete some`);
    team = await api().createTeam();
    expect(outcomeOf(await one('n'))).toBe(success);
  });

  test('what is deleted makes room for one, however often it is deleted', async () => {
    for (const name of ['a', 'b', 'c']) await one(name);
    expect(outcomeOf(await one('d'))).toBe(refused);
    await free('b');
    expect([outcomeOf(await one('e')), outcomeOf(await one('f'))]).toEqual([success, refused]);
  });

  test('a plan allows more than the setting, or less, until it says nothing', async () => {
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

test('a stash that is there takes chunks, though there is no room for another', async () => {
  for (const name of ['a', 'b', 'c']) await team.client.put(`/stashes/${name}/1`, [{ a: 1 }]);
  expect(outcomeOf(await team.client.put('/stashes/a/2', [{ a: 1 }]))).toBe('200');
});

describe('bytes of open uploads', () => {
  const create = (): Promise<Answer> => team.client.post('/apps/shop/uploads', picture);

  test('each upload counts with what may arrive, until it is completed', async () => {
    const first = await createUpload(team.client);
    for (let others = 0; others < 2; others += 1) await createUpload(team.client);
    const answer = await create();
    expect(outcomeOf(answer)).toBe('400 limit_exceeded');
    expect(messageOf(answer)).toMatch('the team has 3000 bytes of open uploads and may have at most 3000');
    await sendBytes(first, 'bytes');
    expect(outcomeOf(await complete(team.client, first))).toBe('200');
    expect([outcomeOf(await create()), outcomeOf(await create())]).toEqual(['200', '400 limit_exceeded']);
  });

  test('a plan overrides the setting, of open uploads too', async () => {
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

  /** Sends most of a large body, and cuts the connection once its body is open. */
  async function cutOff(): Promise<void> {
    const before = await openBodies();
    const { hostname, port } = new URL(team.client.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(`POST /tables?name=n HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${team.client.token}\r\n`
      + `content-type: application/json\r\ncontent-length: ${large.length}\r\n\r\n${large.slice(0, -100)}`);
    await sleepUntil(async () => (await openBodies()) === before + 1, 'the body is open');
    socket.destroy();
  }

  test('those that are cut off count, and those that arrive do not', async () => {
    for (let arrived = 0; arrived < 2; arrived += 1) expect(outcomeOf(await create())).toBe('201');
    expect(await openBodies()).toBe(0);
    for (let cut = 1; cut <= 3; cut += 1) {
      await cutOff();
      expect(await openBodies()).toBe(cut);
    }
    const refused = await create();
    expect(outcomeOf(refused)).toBe('400 limit_exceeded');
    expect(messageOf(refused)).toMatch('the team has 3 open bodies and may have at most 3: wait');
    expect(outcomeOf(await team.client.post('/tables', { name: 'small', rows: [{ a: 1 }] }))).toBe('201');
    await team.setPlan({ openBodiesMax: 4, tablesMax: 100 });
    expect(outcomeOf(await create())).toBe('201');
    // Refused for another reason, it is open no more either.
    expect(outcomeOf(await team.client.post('/tables/01890000-0000-7000-8000-000000000000/rows', large))).toBe('404 table_not_found');
    expect(outcomeOf(await create())).toBe('201');
    expect(await openBodies()).toBe(3);
    await team.setPlan({ openBodiesMax: 3 });
    for (const answer of [await create(), await team.client.put('/stashes/s/1', large)]) {
      expect(outcomeOf(answer)).toBe('402 payment_required');
      expect(messageOf(answer)).toBe("the team's plan allows 3 open bodies and 3 are in use");
    }
  });
});

test('/metrics counts refusals, and what teams use', async () => {
  const scrape = async () => {
    const texts = await Promise.all(api().processes.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
    return texts.map(parseMetrics);
  };
  const refusals = async (): Promise<number> => {
    return (await scrape()).reduce((sum, samples) => sum + sumOf(samples, 'tablog_quota_refusals_total', { quota: 'tables' })!, 0);
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
  }
});
