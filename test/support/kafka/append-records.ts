import kafkajs from 'kafkajs';

/** Appends records to partitions of a topic, bypassing the service. */
export async function appendRecords(
  brokers: string,
  topic: string,
  records: readonly { readonly partition: number; readonly value: string | Buffer }[],
): Promise<void> {
  const producer = new kafkajs.Kafka({ brokers: [brokers], logLevel: kafkajs.logLevel.NOTHING }).producer();
  await producer.connect();
  try {
    await producer.send({ topic, messages: [...records] });
  } finally {
    await producer.disconnect();
  }
}
