/** With the log in Kafka, an event that cannot be projected holds its team, but no other team of the partition. */
import { expect, test } from '@jest/globals';
import { outcomeOf } from '../../support/client.ts';
import { appendRecords } from '../../support/kafka/append-records.ts';
import { parseMetrics, sumOf } from '../../support/metrics.ts';
import { sleepUntil } from '../../support/server.ts';
import { runTablog } from '../../support/tablog.ts';
import { plantTableFault, teamIn, Tenant } from '../quarantined-team.ts';
import { useDeployment } from './use-deployment.ts';

const deployment = useDeployment({
  roles: ['api', 'api', 'projector'],
  environment: { MAINTENANCE_INTERVAL_MS: '500' },
});

const tablog = (...args: readonly string[]): ReturnType<typeof runTablog> => runTablog(args, deployment().environment);

test('the requests of a held team are refused and its jobs stay running, its neighbour goes on, and after the fix it has all held events, in order', async () => {
  const unluckyTeam = teamIn();
  const { partition, id: teamId } = unluckyTeam;
  const luckyTeam = teamIn(partition);
  const records = [unluckyTeam, luckyTeam]
    .flatMap((team) => team.records)
    .map((bytes) => ({ partition, value: Buffer.from(bytes) }));
  await appendRecords(deployment().broker.address, 'tablog.events', records);
  const urls = deployment()
    .of('api')
    .map(({ server }) => server.url);
  const [unlucky, lucky] = [new Tenant(urls, unluckyTeam.token), new Tenant(urls, luckyTeam.token)];
  await unlucky.makeTable();
  await lucky.makeTable();

  const repair = await plantTableFault(deployment().environment['DATABASE_URL']!, 'tables', teamId);
  const add = (): ReturnType<typeof unlucky.client.send> =>
    unlucky.client.send(unlucky.rows, {
      method: 'POST',
      body: [{ value: 'held' }],
      headers: { 'idempotency-key': 'held' },
    });
  const unknown = await Promise.all([unlucky.patch('second'), add()]);
  expect(unknown.map(outcomeOf)).toEqual(['503 outcome_unknown', '503 outcome_unknown']);
  const jobs = unknown.map(({ headers }) => headers.get('job-id')!);
  await unlucky.untilRefused();

  const expectHeld = async (value: string): Promise<void> => {
    expect(await Promise.all(jobs.map((job) => unlucky.jobState(job)))).toEqual(['running', 'running']);
    expect(outcomeOf(await add())).toBe('503 service_unavailable');
    expect(outcomeOf(await lucky.patch(value))).toBe('200');
    expect(await lucky.value()).toBe(value);
  };
  await expectHeld('second');
  const { stdout } = await tablog('quarantine', 'list', '--json');
  expect(JSON.parse(stdout)).toEqual([
    expect.objectContaining({ teamId, name: 'team', partition, reason: 'a planted fault' }),
  ]);
  expect(await tablog('log', 'status')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`Partition ${partition} holds the events of a team in quarantine`),
  });
  const samples = parseMetrics(await (await fetch(`${urls[0]}/metrics`)).text());
  expect(sumOf(samples, 'tablog_quarantined_teams')).toBe(1);
  expect(await (await fetch(`${urls[0]}/readyz`)).json()).toEqual({ data: { status: 'ok' } });
  expect(deployment().of('projector')[0]!.server.output()).toContain('a team is in quarantine');

  // A process that takes the partition over does not forget the quarantine.
  await deployment().kill(deployment().places);
  await deployment().restart(deployment().places);
  await deployment().untilReady();
  await sleepUntil(async () => (await lucky.client.get('/tables')).status === 200, 'the service goes on');
  await unlucky.untilRefused();
  await expectHeld('third');

  // Before the fix, the team stays in quarantine.
  expect(await tablog('quarantine', 'release', teamId)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('stays in quarantine'),
  });
  await expectHeld('fourth');

  await repair();
  expect(await tablog('quarantine', 'release', teamId)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('is released'),
  });
  await sleepUntil(
    async () => (await unlucky.outcomes()).every((outcome) => outcome === '200'),
    'all processes answer it again',
  );
  expect(await Promise.all(jobs.map((job) => unlucky.jobState(job)))).toEqual(['succeeded', 'succeeded']);
  expect(await unlucky.value()).toBe('second');
  // The repetition of a held request gets its outcome, and adds no second row.
  const again = await add();
  expect(outcomeOf(again)).toBe('201');
  const { json: job } = await unlucky.client.get(`/jobs/${jobs[1]!}`);
  expect(job.data.result).toEqual(again.json.data);
  expect((await unlucky.client.get(unlucky.rows)).json.data).toHaveLength(2);
  expect(outcomeOf(await unlucky.patch('third'))).toBe('200');
  expect(outcomeOf(await lucky.patch('fifth'))).toBe('200');
  expect(await tablog('quarantine', 'list')).toMatchObject({ code: 0, stdout: 'No team is in quarantine.\n' });
  expect(await deployment().verify()).toMatchObject({ exitCode: 0 });
});
