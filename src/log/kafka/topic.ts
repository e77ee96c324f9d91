/** Creates the topic of the log if it does not exist, and refuses one that could lose events. */
import kafkajs, { type Admin } from 'kafkajs';
import type { KafkaSettings } from './kafka-client.ts';
import { UnsafeTopic } from './unsafe-topic.ts';

const { ConfigResourceTypes } = kafkajs;

/** Required settings of the topic. Only these values keep every event, with the time that the broker assigned. */
const required = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
  'message.timestamp.type': 'LogAppendTime',
  'unclean.leader.election.enable': 'false',
} as const;

/** The minimum of `max.message.bytes`: the largest send, with its framing. */
const messageBytesMin = 1_000_000;

type TopicSettings = Pick<KafkaSettings, 'topic' | 'replicas'>;

/**
 * Creates the topic unless it exists. Rejects with UnsafeTopic if it could lose events, or if there are fewer brokers
 * than replicas.
 */
export async function ensureTopic(admin: Admin, settings: TopicSettings, partitions: number): Promise<void> {
  const { topic } = settings;
  const { brokers } = await admin.describeCluster();
  const replicas = settings.replicas ?? Math.min(3, brokers.length);
  const isThere = (await admin.listTopics()).includes(topic);
  if (!isThere && replicas > brokers.length) {
    throw new UnsafeTopic(
      `KAFKA_REPLICAS asks for ${replicas} copies of the log, but there are only ${brokers.length} brokers`,
    );
  }
  // Another process may create it at the same time, which does no harm.
  if (!isThere) await createTopic(admin, topic, partitions, replicas);
  const problems = await findProblems(admin, topic, partitions, replicas);
  if (problems.length === 0) return;
  const list = problems.map((problem) => `  ${problem}`).join('\n');
  throw new UnsafeTopic(`The Kafka topic ${topic} could lose events, or is not a log of this service:\n${list}`);
}

async function createTopic(
  admin: Admin,
  topic: string,
  numPartitions: number,
  replicationFactor: number,
): Promise<void> {
  const settings = { ...required, 'min.insync.replicas': String(inSyncMin(replicationFactor)) };
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await admin.createTopics({
    topics: [{ topic, numPartitions, replicationFactor, configEntries }],
    waitForLeaders: false,
  });
}

/** An event counts once this many brokers have it. Of three brokers, one may be down. */
function inSyncMin(replicas: number): number {
  return Math.max(1, replicas - 1);
}

async function findProblems(admin: Admin, topic: string, partitions: number, replicas: number): Promise<string[]> {
  const problems: string[] = [];
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const found = topics[0]!.partitions;
  if (found.length !== partitions) {
    problems.push(
      `it has ${found.length} partitions, not ${partitions}, so teams would map to other partitions. Create a new topic.`,
    );
  }
  const fewest = Math.min(...found.map((partition) => partition.replicas.length));
  if (fewest < replicas) {
    problems.push(
      `it has ${fewest} replicas, not ${replicas}: add replicas, or set KAFKA_REPLICAS=${fewest} to accept that.`,
    );
  }
  const configs = await configOf(admin, topic);
  for (const [name, value] of Object.entries(required)) {
    if (configs.get(name) !== value) problems.push(`${name} is ${configs.get(name)}: set it to ${value}.`);
  }
  const inSync = Number(configs.get('min.insync.replicas'));
  if (inSync < inSyncMin(replicas)) {
    problems.push(`min.insync.replicas is ${inSync}: set it to ${inSyncMin(replicas)}.`);
  }
  const bytesMax = Number(configs.get('max.message.bytes'));
  if (bytesMax < messageBytesMin)
    problems.push(`max.message.bytes is ${bytesMax}: set it to at least ${messageBytesMin}.`);
  return problems;
}

async function configOf(admin: Admin, topic: string): Promise<ReadonlyMap<string, string>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  });
  return new Map(resources[0]!.configEntries.map(({ configName, configValue }) => [configName, configValue]));
}
