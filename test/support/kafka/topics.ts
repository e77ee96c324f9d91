/** Topics in the Kafka that the tests share (shared-kafka.ts): each log is one of its own. */
import kafkajs from 'kafkajs';

let topics = 0;

/** The settings for a log of one's own, and how to delete it. The topic is made by whoever starts with them. */
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
      const admin = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING }).admin();
      await admin.connect();
      try {
        await admin.deleteTopics({ topics: [topic] });
      } finally {
        await admin.disconnect();
      }
    },
  };
}
