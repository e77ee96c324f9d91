/**
 * Acknowledged records are in the log even if answers are lost: with the appender of this project, but not with the
 * idempotent producer of kafkajs, which is why that is not used (docs/decisions/0007).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { pino } from 'pino';
import type { EncodedEvent } from '../../../src/language/events/event.ts';
import { encodeEvent } from '../../../src/language/events/event-codec.ts';
import { createKafka, whenSettled, withAdmin } from '../../../src/log/kafka/kafka-client.ts';
import { KafkaConnection } from '../../../src/log/kafka/kafka-connection.ts';
import { KafkaReader } from '../../../src/log/kafka/kafka-reader.ts';
import { PartitionAppender } from '../../../src/log/kafka/partition-appender.ts';
import { startBroker } from '../../support/kafka/shared-kafka.ts';
import { freePort } from '../../support/server.ts';
import { KafkaProxy } from './kafka-proxy.ts';

const topic = 'sends';
const senders = 8;
const workMs = 12_000;

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/** Sends one event, and resolves when it has been acknowledged. */
type Send = (event: EncodedEvent) => Promise<unknown>;

/** The events that were acknowledged while answers were lost and are not in the log, and how many were acknowledged. */
async function findLost(
  connect: (brokers: readonly string[]) => Promise<Send>,
): Promise<{ acknowledged: number; lost: string[] }> {
  const port = await freePort();
  const proxy = await KafkaProxy.open(port);
  closers.push(() => proxy.close());
  const broker = await startBroker({ port, advertised: proxy.port });
  closers.push(() => broker.remove());
  const kafka = createKafka(
    { brokers: [broker.address], topic, group: 'unused', replicas: 1, ssl: false, sasl: undefined },
    pino({ level: 'silent' }),
  );
  await withAdmin(kafka, (admin) => whenSettled(() => admin.createTopics({ topics: [{ topic, numPartitions: 1 }] })));

  const send = await connect([broker.address]);
  const acknowledged = new Set<string>();
  let goesOn = true;
  let count = 0;
  proxy.harm = () => {
    count += 1;
    return count % 20 === 0 ? { answer: 'cut' } : {};
  };
  const work = async (): Promise<void> => {
    while (goesOn) {
      const id = randomUUID();
      const envelope = { commandId: id, notAfter: null, requestDigest: null };
      const event = encodeEvent(envelope, { type: 'TeamSuspended', teamId: id });
      await send(event).then(
        () => acknowledged.add(id),
        () => undefined,
      );
      // An immediate failure must still let the loop check the clock.
      await sleep(0);
    }
  };
  const working = Promise.all(Array.from({ length: senders }, work));
  await sleep(workMs);
  goesOn = false;
  await working;
  proxy.harm = () => ({});

  const reader = new KafkaReader(await KafkaConnection.open(kafka, topic), 1);
  closers.push(() => reader.close());
  const found = new Set<string>();
  const { end } = await reader.bounds(0);
  for await (const records of reader.read(0, 0n, end)) {
    for (const { bytes } of records) found.add(/"commandId":"([^"]*)"/.exec(Buffer.from(bytes).toString())![1]!);
  }
  return { acknowledged: acknowledged.size, lost: [...acknowledged].filter((id) => !found.has(id)) };
}

test('the appender loses no acknowledged event', async () => {
  const { acknowledged, lost } = await findLost(async (brokers) => {
    const kafka = createKafka(
      { brokers, topic, group: 'unused', replicas: 1, ssl: false, sasl: undefined },
      pino({ level: 'silent' }),
    );
    const connection = await KafkaConnection.open(kafka, topic);
    closers.push(() => connection.close());
    const appender = new PartitionAppender({
      partition: 0,
      connection,
      unknownWait: 10_000,
      prove: async () => undefined,
      onSending: () => undefined,
      onSent: () => undefined,
      signal: new AbortController().signal,
    });
    return (event) => appender.append(event);
  });
  expect(acknowledged).toBeGreaterThan(500);
  expect(lost).toEqual([]);
});

test('the idempotent producer of kafkajs loses acknowledged events', async () => {
  const { acknowledged, lost } = await findLost(async (brokers) => {
    const kafka = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });
    const producer = kafka.producer({ idempotent: true, createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
    await producer.connect();
    closers.push(() => producer.disconnect());
    return ({ bytes }) => producer.send({ topic, acks: -1, messages: [{ partition: 0, value: Buffer.from(bytes) }] });
  });
  expect(acknowledged).toBeGreaterThan(500);
  expect(lost.length).toBeGreaterThan(0);
});
