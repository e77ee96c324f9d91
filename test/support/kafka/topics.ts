/** Topics in the shared Kafka of the tests (shared-kafka.ts): one for each log. */
import kafkajs from 'kafkajs';
import { limitMs } from '../time-limits.ts';

let topics = 0;

/**
 * The settings of a new log, and a function that deletes it. The first process that starts with the settings creates
 * the topic.
 */
export async function createTopic(brokers = process.env['TABLOG_TEST_KAFKA']): Promise<{
  readonly environment: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}> {
  if (!brokers) throw new Error('the shared Kafka was not started: see test/support/start-kafka.ts');
  topics += 1;
  const topic = `test-${process.pid}-${Date.now()}-${topics}`;
  return {
    environment: { KAFKA_BROKERS: brokers, KAFKA_TOPIC: topic, KAFKA_GROUP: topic },
    drop: async () => {
      const admin = new kafkajs.Kafka({
        brokers: brokers.split(','),
        requestTimeout: limitMs(90_000),
        logLevel: kafkajs.logLevel.NOTHING,
      }).admin();
      await admin.connect();
      try {
        await admin.deleteTopics({ topics: [topic], timeout: limitMs(60_000) });
      } finally {
        await admin.disconnect();
      }
    },
  };
}
