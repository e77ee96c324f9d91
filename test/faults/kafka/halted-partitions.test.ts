/** A partition that cannot be projected any further stops there, loudly; the others, and all reads, go on. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import { partitionCount, partitionOf } from '../../../src/log/partition.ts';
import { Client, outcomeOf } from '../../support/client.ts';
import { makeTopicAnew } from '../../support/kafka/make-topic-anew.ts';
import { sleepUntil } from '../../support/server.ts';
import { runTablog } from '../../support/tablog.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

let deployment: KafkaDeployment;

beforeEach(async () => {
  deployment = await KafkaDeployment.start({ roles: ['api', 'projector'] });
}, 120_000);

afterEach(async () => {
  await deployment.stop();
}, 60_000);

interface Team {
  readonly client: Client;
  readonly partition: number;
  /** The path of a row. */
  readonly row: string;
}

/** What a command writes. */
async function tablog(...args: readonly string[]): Promise<string> {
  const result = await runTablog(args, deployment.environment);
  expect(result).toMatchObject({ code: 0 });
  return result.stdout.trim();
}

/** A team with a row in a table, in a partition that is not one of these. */
async function createTeam(others: readonly number[] = []): Promise<Team> {
  for (;;) {
    const teamId = await tablog('teams', 'create', 'test');
    const partition = partitionOf(teamId, partitionCount);
    if (others.includes(partition)) continue;
    const client = new Client(deployment.of('api')[0]!.server.url, await tablog('tokens', 'create', '--team', teamId));
    await sleepUntil(async () => (await client.get('/tables')).status === 200, 'the token is known');
    const { json } = await client.post('/tables', { name: 'table', rows: [{ value: 'first' }] });
    return { client, partition, row: `/tables/${json.data.tableID}/rows/${json.data.rowIDs[0]}` };
  }
}

async function patch({ client, row }: Team, value: string): Promise<string> {
  return outcomeOf(await client.send(row, { method: 'PATCH', body: { value } }));
}

async function readiness(): Promise<{ status: string; problems?: string[] }> {
  const response = await fetch(`${deployment.of('api')[0]!.server.url}/readyz`);
  expect(response.status).toBe(200);
  return (await response.json() as { data: { status: string } }).data;
}

function admin(): kafkajs.Kafka {
  return new kafkajs.Kafka({ brokers: [deployment.broker.address], logLevel: kafkajs.logLevel.NOTHING });
}

test('an event that nobody can project halts its partition, and is never skipped', async () => {
  const unlucky = await createTeam();
  const lucky = await createTeam([unlucky.partition]);
  expect(await readiness()).toEqual({ status: 'ok' });

  const producer = admin().producer();
  await producer.connect();
  await producer.send({ topic: 'tablog.events', messages: [{ partition: unlucky.partition, value: 'no event' }] });
  await producer.disconnect();
  await sleepUntil(async () => (await readiness()).status === 'degraded', 'the halt is known');
  const halt = expect.stringMatching(new RegExp(`^partition ${unlucky.partition} has halted at offset \\d+: a record of an unknown format$`));
  expect((await readiness()).problems).toEqual([halt]);
  expect(deployment.of('projector')[0]!.server.output()).toContain('"level":60');

  expect(await patch(unlucky, 'second')).toBe('503 service_unavailable');
  expect((await unlucky.client.get(unlucky.row)).json.data).toMatchObject({ value: 'first' });
  expect(await patch(lucky, 'second')).toBe('200');

  // It is not skipped by whoever takes the partition over, and reads go on after a restart of everything.
  await deployment.kill(deployment.places);
  await deployment.restart(deployment.places);
  await deployment.untilReady();
  await sleepUntil(async () => (await readiness()).problems?.length === 1, 'the halt is known again', 30_000);
  expect(await patch(unlucky, 'third')).toBe('503 service_unavailable');
  expect((await unlucky.client.get(unlucky.row)).json.data).toMatchObject({ value: 'first' });
  expect(await patch(lucky, 'third')).toBe('200');
}, 180_000);

describe('the topic is made anew under the service', () => {
  async function makeLogAnew(): Promise<void> {
    const client = admin().admin();
    await client.connect();
    const { topics } = await client.fetchTopicMetadata({ topics: ['tablog.events'] });
    expect(topics[0]!.partitions).toHaveLength(partitionCount);
    await makeTopicAnew(client, {
      topic: 'tablog.events', numPartitions: partitionCount,
      settings: { 'retention.ms': '-1', 'message.timestamp.type': 'LogAppendTime' },
    });
    await client.disconnect();
  }

  test('every partition halts with a message that says what to do, and nothing is acknowledged any more', async () => {
    const team = await createTeam();
    await makeLogAnew();
    await sleepUntil(async () => (await patch(team, 'second')).startsWith('503'), 'writes are refused', 30_000);
    await sleepUntil(async () => {
      const { problems = [] } = await readiness();
      return problems.some((problem) => problem.includes('made anew') && problem.includes('tablog replay'));
    }, 'the service says so', 60_000);
    expect(await patch(team, 'third')).toBe('503 service_unavailable');
    expect((await team.client.get(team.row)).json.data).toMatchObject({ value: 'first' });

    // So it does when it is started on another log.
    await deployment.kill(deployment.places);
    await deployment.restart(deployment.places);
    await deployment.untilReady();
    expect(await patch(team, 'fourth')).toBe('503 service_unavailable');
    expect((await team.client.get(team.row)).json.data).toMatchObject({ value: 'first' });
  }, 180_000);
});

test('an API says so when nobody projects what it appends', async () => {
  const team = await createTeam();
  await deployment.kill(deployment.of('projector'));
  expect(await patch(team, 'second')).toBe('503 outcome_unknown');
  await sleepUntil(async () => {
    const { problems = [] } = await readiness();
    return problems.some((problem) => problem.startsWith(`Nobody projects partition ${team.partition}`));
  }, 'the service says so', 40_000);
  await deployment.restart(deployment.of('projector'));
  await sleepUntil(async () => (await readiness()).status === 'ok', 'all is well again', 40_000);
  expect(await patch(team, 'third')).toBe('200');
}, 180_000);
