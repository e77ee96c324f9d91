import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { sleepUntil } from '../server.ts';

const withinMs = 180_000;
/** The limit of one attempt: kafkajs may hang if its connection is closed while the broker starts. */
const tryMs = 10_000;

/**
 * Waits until a broker answers requests, and all partitions of all topics have leaders. Rejects after three minutes.
 */
export async function untilBrokerAnswers(address: string): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 0 } });
  await sleepUntil(
    () => Promise.race([answers(kafka), sleep(tryMs, false)]),
    `the broker at ${address} answers`,
    withinMs,
  );
}

async function answers(kafka: kafkajs.Kafka): Promise<boolean> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    await admin.listTopics();
    return true;
  } catch {
    return false;
  } finally {
    // Disconnecting fails if the connection is already closed.
    await admin.disconnect().catch(() => undefined);
  }
}
