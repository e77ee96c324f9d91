/** The leaders of a topic's partitions, and the brokers that are in sync. */
import kafkajs, { type Admin, type PartitionMetadata } from 'kafkajs';

/** A killed or paused broker does not answer, so a request is soon given up and repeated. */
const requestTimeout = 2000;

/** Lends an admin connection to these brokers, given as in KAFKA_BROKERS. */
export async function withBrokers<T>(brokers: string, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new kafkajs.Kafka({
    brokers: brokers.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    requestTimeout,
    connectionTimeout: requestTimeout,
    retry: { retries: 1 },
  }).admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    // Disconnecting fails if the connection is already closed.
    await admin.disconnect().catch(() => undefined);
  }
}

/** The partitions of a topic as these brokers know them, or none if they cannot be reached now. */
export async function partitionsOf(brokers: string, topic: string): Promise<readonly PartitionMetadata[]> {
  return withBrokers(
    brokers,
    async (admin) => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]!.partitions,
  ).catch(() => []);
}

/** Whether each partition has this many brokers in sync. */
export async function areInSync(brokers: string, topic: string, count: number): Promise<boolean> {
  const partitions = await partitionsOf(brokers, topic);
  return partitions.length > 0 && partitions.every(({ isr }) => isr.length === count);
}

/** The partition of a topic with the most records. */
export async function busiestPartition(brokers: string, topic: string): Promise<number> {
  const ends = await withBrokers(brokers, (admin) => admin.fetchTopicOffsets(topic));
  return ends.reduce((most, end) => (BigInt(end.high) > BigInt(most.high) ? end : most)).partition;
}
