import { GroupMembership, hasMembers } from './group-membership.ts';
import { createKafka, whenSettled, withAdmin, type KafkaSettings } from './kafka-client.ts';
import { KafkaConnection } from './kafka-connection.ts';
import { ensureTopic } from './topic.ts';
import { KafkaLog, type KafkaLogOptions } from './kafka-log.ts';

interface OpenOptions extends KafkaLogOptions {
  readonly kafka: KafkaSettings;
  /** Whether this process projects partitions: always, never, or only if no other process does at the start. */
  readonly projects: boolean | 'unless others do';
}

/**
 * Opens the log, and starts to project if this process should. Creates the topic and the log if they do not exist.
 * Rejects with UnsafeTopic if the topic could lose events. Also rejects if Kafka or Postgres cannot be reached.
 */
export async function openKafkaLog(options: OpenOptions, signal: AbortSignal): Promise<KafkaLog> {
  const { kafka: settings, logger, partitions } = options;
  const { topic, group } = settings;
  const kafka = createKafka(settings, logger);
  const projects = await withAdmin(kafka, async (admin) => {
    await whenSettled(() => ensureTopic(admin, settings, partitions));
    return options.projects === 'unless others do' ? !(await hasMembers(admin, group)) : options.projects;
  });
  signal.throwIfAborted();
  return KafkaLog.over(
    {
      connect: () => KafkaConnection.open(kafka, topic),
      membership: projects ? (onAssigned) => new GroupMembership({ kafka, topic, group, logger, onAssigned }) : null,
    },
    options,
    signal,
  );
}
