/** The fate of sends on their way to Kafka, and of events that are in the log twice or too late. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import type { Client } from '../../support/client.ts';
import { freePort, sleepUntil, type ProcessRole } from '../../support/server.ts';
import { survive } from '../survive.ts';
import { KafkaDeployment } from './kafka-deployment.ts';
import { KafkaProxy, type Harm } from './kafka-proxy.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/** A deployment whose brokers are behind a proxy. */
async function deployBehindProxy(
  roles: readonly ProcessRole[],
): Promise<{ deployment: KafkaDeployment; proxy: KafkaProxy }> {
  const port = await freePort();
  const proxy = await KafkaProxy.open(port);
  closers.push(() => proxy.close());
  const deployment = await KafkaDeployment.start({ roles, ports: { port, advertised: proxy.port } });
  closers.push(async () => expect(await deployment.stop()).toEqual(roles.map(() => 0)));
  return { deployment, proxy };
}

/** A row to patch: its path and its version. */
async function createRow(client: Client): Promise<{ readonly path: string; readonly version: bigint }> {
  const { json } = await client.post('/tables', { name: 'one row', rows: [{ value: 'first' }] });
  const path = `/tables/${json.data.tableID}/rows/${json.data.rowIDs[0]}`;
  return { path, version: (await client.get(path)).version! };
}

describe('answers of the brokers are lost, late, or cut off', () => {
  test.each([
    ['two APIs and two projectors', ['api', 'api', 'projector', 'projector']],
    ['one process', ['all']],
  ] as const)('every acknowledged write is there, with %s', async (_name, roles) => {
    const { deployment, proxy } = await deployBehindProxy(roles);
    const clients = await deployment.clients();
    await survive({ clients, verify: () => deployment.verify() }, async (random) => {
      proxy.harm = (): Harm => {
        const chance = random();
        if (chance < 0.03) return { answer: 'cut' };
        if (chance < 0.035) return { answer: 'swallowed' };
        return chance < 0.2 ? { delayMs: random() * 100 } : {};
      };
      await sleep(20_000);
      // A busy machine makes few sends.
      await sleepUntil(() => proxy.sends.unanswered > 5, 'more answers are lost');
      proxy.harm = () => ({});
    });
  });
});

test('a send that is held back beyond its time has no effect, and its request is answered that the outcome is unknown', async () => {
  const { deployment, proxy } = await deployBehindProxy(['api', 'projector']);
  const [client] = await deployment.clients();
  const { path, version } = await createRow(client!);
  proxy.hold();
  const answer = await client!.send(path, { method: 'PATCH', body: { value: 'late' } });
  expect(answer.status).toBe(503);
  expect(answer.json.error.type).toBe('outcome_unknown');
  const jobId = answer.headers.get('job-id');
  expect(jobId).toMatch(/^[\w-]{92}$/);
  expect((await client!.get(`/jobs/${jobId}`)).json).toEqual({ data: { status: 'running' } });
  // An event takes effect within a minute, or never.
  await sleep(62_000);
  const { passed } = proxy.sends;
  proxy.release();
  await sleepUntil(() => proxy.sends.passed > passed, 'the send has passed');
  await sleepUntil(async () => {
    return (await client!.send(path, { method: 'PATCH', body: { value: 'in time' } })).status === 200;
  }, 'writes are taken again');
  const row = await client!.get(path);
  expect(row.json.data).toMatchObject({ value: 'in time' });
  expect(row.version).toBeGreaterThan(version);
  expect(await deployment.verify()).toMatchObject({ exitCode: 0 });
});

test('an event that is in the log a second time changes nothing', async () => {
  const deployment = await KafkaDeployment.start({ roles: ['all'] });
  closers.push(() => deployment.stop());
  const [client] = await deployment.clients();
  const { path } = await createRow(client!);
  for (const value of ['a', 'b', 'c']) await client!.send(path, { method: 'PATCH', body: { value } });
  const before = await client!.get(path);

  const again = await appendAllAgain(deployment.broker.address);
  expect(again).toBeGreaterThan(5);
  // A later request shows that all of it has been projected.
  const other = await createRow(client!);
  const after = await client!.get(path);
  expect(after.text).toBe(before.text);
  expect(after.version).toBe(before.version);
  expect(other.version).toBeGreaterThan(before.version! + 3n);
  expect(await deployment.verify()).toMatchObject({ exitCode: 0 });
});

/** Appends every record of the log a second time. Resolves to the number of records. */
async function appendAllAgain(broker: string): Promise<number> {
  const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING });
  const topic = 'tablog.events';
  const [admin, consumer, producer] = [kafka.admin(), kafka.consumer({ groupId: 'again' }), kafka.producer()];
  await Promise.all([admin.connect(), consumer.connect(), producer.connect()]);
  try {
    const ends = await admin.fetchTopicOffsets(topic);
    const count = ends.reduce((sum, { offset }) => sum + Number(offset), 0);
    const found: { partition: number; value: Buffer }[] = [];
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        found.push({ partition, value: message.value! });
      },
    });
    await sleepUntil(() => found.length >= count, 'the log is read');
    await producer.send({ topic, messages: found.slice(0, count) });
    return count;
  } finally {
    await Promise.all([admin.disconnect(), consumer.disconnect(), producer.disconnect()]);
  }
}
