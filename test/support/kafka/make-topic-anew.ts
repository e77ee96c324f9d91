import type { Admin } from 'kafkajs';
import { sleepUntil } from '../server.ts';

interface NewTopic {
  readonly topic: string;
  readonly numPartitions: number;
  /** Settings of the topic, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Deletes a topic, and creates a new one with the same name. */
export async function makeTopicAnew(admin: Admin, { topic, numPartitions, settings = {} }: NewTopic): Promise<void> {
  const exists = async (): Promise<boolean> => (await admin.listTopics()).includes(topic);
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await admin.deleteTopics({ topics: [topic] });
  await sleepUntil(async () => !(await exists()), 'the topic is gone');
  // A busy broker may create it although its answer comes too late.
  await sleepUntil(async () => {
    const isMade = await admin.createTopics({ topics: [{ topic, numPartitions, configEntries }] }).catch(() => false);
    return isMade || exists();
  }, 'the topic is there again');
}
