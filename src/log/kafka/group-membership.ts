/**
 * Which partitions this process is to project. A consumer group of Kafka shares them out among the processes that live; it
 * is asked for nothing else. What a partition holds is fetched elsewhere, and how far it is projected is in Postgres.
 */
import type { Admin, Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import { pause } from '../../pause.ts';

/** A process that says nothing for so long has its partitions given to others, in milliseconds. */
export const sessionTimeout = 8000;
const heartbeatInterval = 1000;
/** How long the others have to join anew when that happens. */
const rebalanceTimeout = 6000;
/** How often kafkajs looks whether there is something to fetch, which there never is, and sends a heartbeat if it is due. */
const idleInterval = 500;

/** How long to wait before a membership that broke is begun anew. */
const rejoinDelay = 500;

export interface GroupMembershipOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly group: string;
  readonly logger: Logger;
  /** Hears, each time the group has shared the partitions out, which are this process's. */
  readonly onAssigned: (partitions: readonly number[]) => void;
}

export class GroupMembership {
  readonly #options: GroupMembershipOptions;
  readonly #leaving = new AbortController();
  #membership: Promise<void> | null = null;

  constructor(options: GroupMembershipOptions) {
    this.#options = options;
  }

  /** Begins to join the group, and joins it anew whenever that breaks. */
  join(): void {
    this.#membership ??= this.#stayJoined();
  }

  /** Leaves the group, so that others need not wait for it to be missed. */
  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#membership;
  }

  /** Settles when the group has been left. Never rejects. */
  async #stayJoined(): Promise<void> {
    const { group, logger } = this.#options;
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      try {
        await this.#beMember();
      } catch (error) {
        logger.warn({ err: error, group }, 'the consumer group was lost, and is joined anew');
        await pause(rejoinDelay, signal);
      }
    }
  }

  /** Resolves when the group is to be left, and rejects when the membership has broken. */
  async #beMember(): Promise<void> {
    const { kafka, topic, group, onAssigned } = this.#options;
    const consumer = kafka.consumer({
      groupId: group, sessionTimeout, heartbeatInterval, rebalanceTimeout, maxWaitTimeInMs: idleInterval,
      allowAutoTopicCreation: false, retry: { retries: 5, restartOnFailure: async () => false },
    });
    const end = Promise.withResolvers<void>();
    const leave = (): void => end.resolve();
    this.#leaving.signal.addEventListener('abort', leave, { once: true });
    // To be listened to before it runs: the first one is not repeated.
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      consumer.pause([{ topic }]);
      onAssigned(payload.memberAssignment[topic] ?? []);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => end.reject(payload.error));
    try {
      await consumer.connect();
      await consumer.subscribe({ topic });
      await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => undefined });
      await end.promise;
    } finally {
      this.#leaving.signal.removeEventListener('abort', leave);
      end.promise.catch(() => undefined);
      await consumer.disconnect();
    }
  }
}

/** Whether any process is a member of a group. One that was killed still is, until it is missed. */
export async function hasMembers(admin: Admin, group: string): Promise<boolean> {
  const { groups } = await admin.describeGroups([group]);
  return groups[0]!.members.length > 0;
}
