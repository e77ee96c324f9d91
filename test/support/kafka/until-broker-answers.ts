import kafkajs from 'kafkajs';
import pRetry from 'p-retry';

const withinMs = 60_000;

/** Waits until a broker answers requests. Rejects when it does not within a minute. */
export async function untilBrokerAnswers(address: string): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 0 } });
  await pRetry(async () => {
    const admin = kafka.admin();
    try {
      await admin.connect();
      await admin.listTopics();
    } finally {
      await admin.disconnect();
    }
  }, { retries: Infinity, maxRetryTime: withinMs, minTimeout: 200, factor: 1 });
}
