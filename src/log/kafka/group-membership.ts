/**
 * Which partitions this process projects. A Kafka consumer group assigns partitions to live processes, and serves no
 * other purpose: records are fetched elsewhere, and progress of the projection is in Postgres.
 */
import type { Admin, Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import { pause } from '../../storage/pause.ts';

/** Session timeout in milliseconds: a process that sends no heartbeat for this long loses its partitions. */
export const sessionTimeout = 8000;
const heartbeatInterval = 1000;
/** How long members have to rejoin in a rebalance, in milliseconds. */
const rebalanceTimeout = 6000;
/**
 * How often kafkajs polls, in milliseconds. There is never anything to fetch; each poll sends a heartbeat if one is
 * due.
 */
const idleInterval = 500;

/** Delay before rejoining after the membership broke, in milliseconds. */
const rejoinDelay = 500;

interface GroupMembershipOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly group: string;
  readonly logger: Logger;
  /** Called after each rebalance with the partitions of this process. */
  readonly onAssigned: (partitions: readonly number[]) => void;
}

export class GroupMembership {
  readonly #options: GroupMembershipOptions;
  readonly #leaving = new AbortController();
  #membership: Promise<void> | null = null;

  constructor(options: GroupMembershipOptions) {
    this.#options = options;
  }

  /** Joins the group, and rejoins whenever the membership breaks. */
  join(): void {
    this.#membership ??= this.#stayJoined();
  }

  /** Leaves the group, so that others need not wait for the session timeout. */
  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#membership;
  }

  /** Settles once the process has left the group. Never rejects. */
  async #stayJoined(): Promise<void> {
    const { group, logger } = this.#options;
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      try {
        await this.#beMember();
      } catch (error) {
        logger.warn({ err: error, group }, 'lost the membership in the consumer group; rejoining');
        await pause(rejoinDelay, signal);
      }
    }
  }

  /** Resolves when the process is to leave the group. Rejects if the membership broke. */
  async #beMember(): Promise<void> {
    const { kafka, topic, group, onAssigned } = this.#options;
    const consumer = kafka.consumer({
      groupId: group,
      sessionTimeout,
      heartbeatInterval,
      rebalanceTimeout,
      maxWaitTimeInMs: idleInterval,
      allowAutoTopicCreation: false,
      retry: { retries: 5, restartOnFailure: async () => false },
    });
    const end = Promise.withResolvers<void>();
    const leave = (): void => end.resolve();
    this.#leaving.signal.addEventListener('abort', leave, { once: true });
    // Registered before `run`: the first event is not repeated.
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

/** Whether a consumer group has members. A killed process counts until its session times out. */
export async function hasMembers(admin: Admin, group: string): Promise<boolean> {
  const { groups } = await admin.describeGroups([group]);
  return groups[0]!.members.length > 0;
}
