import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { sleepUntil } from '../server.ts';

const withinMs = 180_000;
/** A try of kafkajs whose connection is closed as the broker starts may never end. */
const tryMs = 10_000;

/** Waits until a broker answers requests. Rejects when it does not within three minutes. */
export async function untilBrokerAnswers(address: string): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 0 } });
  await sleepUntil(() => Promise.race([answers(kafka), sleep(tryMs, false)]), `the broker at ${address} answers`, withinMs);
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
    // What is closed already cannot be closed.
    await admin.disconnect().catch(() => undefined);
  }
}
