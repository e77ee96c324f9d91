import kafkajs from 'kafkajs';

const withinMs = 60_000;

/** Waits until a broker answers requests. Rejects when it does not within a minute. */
export async function untilBrokerAnswers(address: string): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 0 } });
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const admin = kafka.admin();
    try {
      await admin.connect();
      await admin.listTopics();
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    } finally {
      await admin.disconnect();
    }
  }
}
