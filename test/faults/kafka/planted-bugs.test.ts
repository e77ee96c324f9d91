/** The checkers of these tests find bugs that are planted into real processes (plants.ts). */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import { partitionCount } from '../../../src/log/partition.ts';
import { makeTopicAnew } from '../../support/kafka/make-topic-anew.ts';
import { freePort, sleepUntil, type ProcessRole } from '../../support/server.ts';
import { findProblemsWhile } from '../survive.ts';
import { KafkaDeployment, type KafkaDeploymentOptions } from './kafka-deployment.ts';
import { KafkaProxy } from './kafka-proxy.ts';
import type { ServicePlant } from './plants.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

interface Planted {
  readonly deployment: KafkaDeployment;
  readonly proxy: KafkaProxy;
}

async function deploy(
  plant: ServicePlant,
  roles: readonly ProcessRole[],
  options: Pick<KafkaDeploymentOptions, 'groupsApart'> = {},
): Promise<Planted> {
  const port = await freePort();
  const proxy = await KafkaProxy.open(port);
  closers.push(() => proxy.close());
  const deployment = await KafkaDeployment.start({
    ...options,
    roles,
    ports: { port, advertised: proxy.port },
    environment: { PLANT: plant },
    nodeArgs: ['--import', join(import.meta.dirname, 'plants.ts')],
  });
  closers.push(() => deployment.stop('SIGKILL'));
  return { deployment, proxy };
}

/** The findings of the checkers while a service is disturbed: about its answers, and about its read model. */
async function check({ deployment }: Planted, disturb: (random: () => number) => Promise<void>): Promise<string[]> {
  const problems = await findProblemsWhile({ clients: await deployment.clients() }, disturb);
  const { exitCode, output } = await deployment.verify();
  return exitCode === 0 ? problems : [...problems, output];
}

const work = (ms: number) => (): Promise<void> => sleep(ms);

function kafkaOf({ broker }: KafkaDeployment): kafkajs.Kafka {
  return new kafkajs.Kafka({ brokers: [broker.address], logLevel: kafkajs.logLevel.NOTHING });
}

test('no compare-and-set', async () => {
  // Each of them projects all partitions. histories.test.ts shows that without the bug this does no harm.
  const planted = await deploy('no compare-and-set', ['api', 'projector', 'projector'], { groupsApart: true });
  expect(await check(planted, work(8000))).not.toEqual([]);
});

test('no dedupe', async () => {
  const planted = await deploy('no dedupe', ['api', 'projector']);
  const problems = await check(planted, async (random) => {
    planted.proxy.harm = () => (random() < 0.1 ? { answer: 'cut' } : {});
    await sleep(10_000);
    planted.proxy.harm = () => ({});
  });
  expect(problems).not.toEqual([]);
});

test.each(['wait by offset only', '4xx after the append'] as const)(
  'the checker finds the planted bug: %s',
  async (plant) => {
    const planted = await deploy(plant, ['api', 'projector']);
    expect(await check(planted, work(4000))).not.toEqual([]);
  },
);

test('the checker finds a silent offset reset', async () => {
  const planted = await deploy('silent offset reset', ['api', 'projector']);
  const [client] = await planted.deployment.clients();
  await client!.post('/tables', { name: 'before', rows: [{ value: 1 }] });
  const admin = kafkaOf(planted.deployment).admin();
  await admin.connect();
  await makeTopicAnew(admin, { topic: 'tablog.events', numPartitions: partitionCount });
  await admin.disconnect();
  // It takes other events for the next ones, instead of the lost events.
  await sleepUntil(
    async () => (await client!.post('/tables', { name: 'after', rows: [{ value: 2 }] })).status !== 503,
    'it answers',
    30_000,
  ).catch(() => undefined);
  expect((await planted.deployment.verify()).exitCode).not.toBe(0);
});

test('the checker finds a skipped poison event', async () => {
  const planted = await deploy('skipped poison event', ['api', 'projector']);
  const producer = kafkaOf(planted.deployment).producer();
  await producer.connect();
  const messages = Array.from({ length: partitionCount }, (_, partition) => ({ partition, value: 'no event' }));
  await producer.send({ topic: 'tablog.events', messages });
  await producer.disconnect();
  const [client] = await planted.deployment.clients();
  // The service goes on as if nothing were wrong. A replay cannot.
  expect((await client!.post('/tables', { name: 'after', rows: [{ value: 2 }] })).status).toBe(201);
  expect((await planted.deployment.verify()).exitCode).not.toBe(0);
});
