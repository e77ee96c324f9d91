/**
 * A process's connection to the topic of the log: sends to a partition, and reads from an offset.
 *
 * It uses kafkajs's cluster, below its producer and consumer. The producer throws the same error for a send that never
 * left and for one that was lost in transit, and an event has no outcome before that is known. The consumer cannot be
 * assigned partitions and offsets, and silently resets when an offset is out of range.
 */
import type { Kafka } from 'kafkajs';
import { unwrapCopy } from '../../language/events/record-copy.ts';
import { NotAppended } from '../event-log.ts';
import type { LogRecord, PartitionBounds } from '../event-log.ts';
import { whenSettled } from './kafka-client.ts';
import { clusterOf, type KafkajsBroker, type KafkajsCluster } from './kafkajs-internals.ts';
import { LeaderSearch } from './leader-search.ts';

/** The place that the broker assigned to the first record of a send. */
interface SentPlace {
  readonly offset: bigint;
  readonly time: number;
}

interface FetchedPartition {
  readonly records: readonly LogRecord[];
  /** The high watermark: the offset after the last record of the log. */
  readonly end: bigint;
}

/** The bounds of a partition, and the broker that returned them. */
interface LedBounds extends PartitionBounds {
  /** The broker that was asked; undefined if none was known to lead the partition. */
  readonly leader: string | undefined;
}

interface FetchOptions {
  /** How long the broker waits for a first record, in milliseconds. */
  readonly waitMs: number;
  readonly bytesMax: number;
}

/** The log does not have this offset of a partition. */
export class OffsetOutOfRange extends Error {
  override readonly name = 'OffsetOutOfRange';
  readonly partition: number;

  constructor(partition: number, cause: unknown) {
    super(`partition ${partition} has no such offset`, { cause });
    this.partition = partition;
  }
}

/** How long the broker waits for the in-sync replicas to acknowledge a send, in milliseconds. */
const ackTimeout = 5000;

/**
 * Errors about the send itself. A broker checks for these before it writes anything, and a repetition fails in the same
 * way. After any other error the records may be in the log. If a leader is deposed while it waits for replicas, it
 * answers NOT_LEADER_FOR_PARTITION (or UNKNOWN_TOPIC_OR_PARTITION or LEADER_NOT_AVAILABLE), although the next leader
 * may have the records.
 */
const refusals = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'CORRUPT_MESSAGE',
  'INVALID_REQUIRED_ACKS',
  'UNSUPPORTED_FOR_MESSAGE_FORMAT',
  'POLICY_VIOLATION',
]);

interface ProduceResponse {
  readonly topics: readonly {
    readonly partitions: readonly { readonly baseOffset: string; readonly logAppendTime: string }[];
  }[];
}

interface FetchResponse {
  readonly responses: readonly {
    readonly partitions: readonly {
      readonly partition: number;
      readonly highWatermark: string;
      readonly messages: readonly {
        readonly offset: string;
        readonly timestamp: string;
        readonly value: Buffer | null;
      }[];
    }[];
  }[];
}

export class KafkaConnection {
  readonly topic: string;
  readonly #cluster: KafkajsCluster;
  readonly #leaderSearch: LeaderSearch;
  /** The leader of each partition, as of the last check. */
  readonly #leaders = new Map<number, string>();
  /** The brokers to which there is a connection, as of the last check. */
  readonly #connected = new Map<string, KafkajsBroker>();
  /** The doubts about all partitions, and the doubts about single ones. */
  #commonDoubts = 0;
  readonly #ownDoubts = new Map<number, number>();
  #isClosed = false;

  private constructor(topic: string, cluster: KafkajsCluster) {
    this.topic = topic;
    this.#cluster = cluster;
    this.#leaderSearch = new LeaderSearch({
      topic,
      cluster,
      leaderOf: (partition) => this.#leaderOf(partition),
      onAsk: () => this.#noticeBreaks(),
      ask: async (broker) => (await this.#broker(broker)).metadata([topic]),
    });
  }

  /** Connects; rejects when no broker can be reached. */
  static open(kafka: Kafka, topic: string): Promise<KafkaConnection> {
    return KafkaConnection.over(clusterOf(kafka), topic);
  }

  /** The same over a cluster that is not yet connected. */
  static async over(cluster: KafkajsCluster, topic: string): Promise<KafkaConnection> {
    await cluster.connect();
    await whenSettled(() => cluster.addTargetTopic(topic));
    return new KafkaConnection(topic, cluster);
  }

  /**
   * The number of doubts about the partition: how often a request for it failed, a connection broke, or its leader
   * changed. After each of these, the partition may have lost records that were read or acknowledged. A broker may have
   * restarted without its last writes, or the new leader may not have had the records.
   */
  doubtsAbout(partition: number): number {
    this.#noticeBreaks();
    const leader = this.#leaderOf(partition);
    if (leader !== undefined && leader !== this.#leaders.get(partition)) {
      this.#leaders.set(partition, leader);
      this.#doubt(partition);
    }
    return this.#commonDoubts + (this.#ownDoubts.get(partition) ?? 0);
  }

  /**
   * As `doubtsAbout`; null unless this process is connected to the broker that leads the partition. With a connection,
   * each later break is a new doubt.
   */
  doubtsWhileConnected(partition: number): number | null {
    const doubts = this.doubtsAbout(partition);
    const leader = this.#leaderOf(partition);
    return leader !== undefined && this.#connected.has(leader) ? doubts : null;
  }

  /**
   * Connects to the broker that leads a partition, unless it is connected. Rejects with NotAppended if the broker
   * cannot be reached now.
   */
  async reachLeader(partition: number): Promise<void> {
    await this.#leader(partition);
  }

  /**
   * Sends records to a partition. Resolves when all in-sync replicas have them. Rejects with NotAppended if the records
   * certainly are not, and never will be, in the log. After any other error they may be in the log.
   */
  async send(partition: number, values: readonly Uint8Array[]): Promise<SentPlace> {
    const broker = await this.#leader(partition);
    const messages = values.map((value) => ({ value: Buffer.from(value.buffer, value.byteOffset, value.byteLength) }));
    try {
      const answer: ProduceResponse = await broker.produce({
        acks: -1,
        timeout: ackTimeout,
        topicData: [{ topic: this.topic, partitions: [{ partition, messages }] }],
      });
      const { baseOffset, logAppendTime } = answer.topics[0]!.partitions[0]!;
      return { offset: BigInt(baseOffset), time: Number(logAppendTime) };
    } catch (error) {
      await this.#forgetLeader([partition], error);
      const { type } = error as { type?: string };
      if (type === undefined || !refusals.has(type)) throw error;
      throw new NotAppended(`Kafka refused a send: ${(error as Error).message}`, { cause: error });
    }
  }

  /** The broker that leads a partition, as far as known; undefined if none does. */
  leaderOf(partition: number): string | undefined {
    return this.#leaderOf(partition);
  }

  /**
   * Asks for the leader of a partition until another broker names the same one, if more than one can be asked
   * (`LeaderSearch`). Requests in flight to brokers that no other broker names will fail. Resolves to the leader.
   * Rejects if no broker can be reached, or if they disagree.
   */
  findLeaderAnew(partition: number): Promise<string> {
    return this.#leaderSearch.find(partition);
  }

  /** The partitions by leading broker, as far as known. Rejects if no broker can be reached. */
  async leaders(partitions: readonly number[]): Promise<ReadonlyMap<string, readonly number[]>> {
    this.#noticeBreaks();
    await this.#cluster.refreshMetadataIfNecessary();
    return new Map(Object.entries(this.#cluster.findLeaderForPartitions(this.topic, [...partitions])));
  }

  /**
   * Fetches a broker's partitions from these offsets on. Resolves at once if there are records, otherwise after
   * `waitMs`. Rejects with OffsetOutOfRange.
   */
  async fetch(
    leader: string,
    offsets: ReadonlyMap<number, bigint>,
    { waitMs, bytesMax }: FetchOptions,
  ): Promise<ReadonlyMap<number, FetchedPartition>> {
    try {
      const broker = await this.#broker(leader);
      const partitions = Array.from(offsets, ([partition, offset]) => {
        return { partition, fetchOffset: String(offset), maxBytes: bytesMax };
      });
      const { responses }: FetchResponse = await broker.fetch({
        maxWaitTime: waitMs,
        minBytes: 1,
        maxBytes: bytesMax,
        topics: [{ topic: this.topic, partitions }],
      });
      return new Map(
        responses
          .flatMap((response) => response.partitions)
          .map(({ partition, highWatermark, messages }) => {
            const from = offsets.get(partition)!;
            const records = messages.map(({ offset, timestamp, value }): LogRecord => {
              // This service never writes a record without a value. Such a record halts its reader.
              const bytes = value ?? new Uint8Array(0);
              return {
                partition,
                offset: BigInt(offset),
                ...(unwrapCopy(bytes) ?? { time: Number(timestamp), bytes }),
              };
            });
            // Brokers return a compressed batch whole, from its first record on.
            return [partition, { records: records.filter(({ offset }) => offset >= from), end: BigInt(highWatermark) }];
          }),
      );
    } catch (error) {
      const { name, partition } = error as { name?: string; partition?: number };
      if (name === 'KafkaJSOffsetOutOfRange') throw new OffsetOutOfRange(partition!, error);
      await this.#forgetLeader([...offsets.keys()], error);
      throw error;
    }
  }

  /** The first offset of each partition, the offset after its last record, and the broker that was asked. */
  async bounds(partitions: readonly number[]): Promise<ReadonlyMap<number, LedBounds>> {
    this.#noticeBreaks();
    try {
      await this.#cluster.refreshMetadataIfNecessary();
      const asked = { topic: this.topic, partitions: partitions.map((partition) => ({ partition })) };
      // Another request may learn of new leaders while this one is in flight.
      const leaders = partitions.map((partition) => this.#leaderOf(partition));
      const [starts, ends] = await Promise.all([
        this.#cluster.fetchTopicsOffset([{ ...asked, fromBeginning: true }]),
        this.#cluster.fetchTopicsOffset([{ ...asked, fromBeginning: false }]),
      ]);
      const endOf = new Map(ends[0]!.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
      return new Map(
        starts[0]!.partitions.map(({ partition, offset }) => {
          return [
            partition,
            { start: BigInt(offset), end: endOf.get(partition)!, leader: leaders[partitions.indexOf(partition)] },
          ];
        }),
      );
    } catch (error) {
      await this.#forgetLeader(partitions, error);
      throw error;
    }
  }

  /** Disconnects. Requests in flight fail, and open no new connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#cluster.disconnect();
  }

  /**
   * Rejects with NotAppended if the leader cannot be reached now, and if it may lack records that the caller has read.
   */
  async #leader(partition: number): Promise<KafkajsBroker> {
    const doubts = this.doubtsAbout(partition);
    let broker: KafkajsBroker;
    let leader: string | undefined;
    try {
      await this.#cluster.refreshMetadataIfNecessary();
      leader = this.#leaderOf(partition);
      if (leader === undefined) throw new Error(`partition ${partition} has no leader`);
      broker = await this.#broker(leader);
    } catch (error) {
      throw new NotAppended('Kafka cannot be reached', { cause: error });
    }
    // The leader may have changed, and changed back without a new doubt. Then nothing is proved about the leader in
    // between.
    if (leader === this.#leaderOf(partition) && this.doubtsAbout(partition) === doubts) return broker;
    throw new NotAppended(`the broker that leads partition ${partition} has changed, or was reconnected`);
  }

  #leaderOf(partition: number): string | undefined {
    return Object.keys(this.#cluster.findLeaderForPartitions(this.topic, [partition]))[0];
  }

  /** Connects to a broker unless it is connected. */
  async #broker(nodeId: string): Promise<KafkajsBroker> {
    this.#noticeBreaks();
    const broker = await this.#cluster.findBroker({ nodeId });
    this.#connected.set(nodeId, broker);
    return broker;
  }

  /** Call this before every operation that may reconnect to a broker. */
  #noticeBreaks(): void {
    for (const [nodeId, broker] of this.#connected) {
      if (broker.isConnected()) continue;
      this.#connected.delete(nodeId);
      this.#commonDoubts += 1;
    }
  }

  #doubt(partition: number): void {
    this.#ownDoubts.set(partition, (this.#ownDoubts.get(partition) ?? 0) + 1);
  }

  /**
   * A request for these partitions failed. Refreshes the metadata before the next try, because another broker may lead
   * now. Forgets a broker that hangs, with its connections. Otherwise it would also be asked for the metadata.
   */
  async #forgetLeader(partitions: readonly number[], error: unknown): Promise<void> {
    const { broker, type } = error as { broker?: string; type?: string };
    // An error in a broker's answer belongs to the request. Any other error may belong to a connection, which serves
    // all partitions.
    if (type === undefined) this.#commonDoubts += 1;
    else for (const partition of partitions) this.#doubt(partition);
    this.#noticeBreaks();
    if (this.#isClosed) return;
    if (broker !== undefined) this.#cluster.removeBroker(addressOf(broker));
    try {
      await this.#cluster.refreshMetadata();
    } catch {
      // If no broker can be reached, the next try fails because of that.
    }
  }
}

/** The address of a broker. Errors of kafkajs name it as `host:port`. */
function addressOf(broker: string): { host: string; port: number } {
  const colon = broker.lastIndexOf(':');
  return { host: broker.slice(0, colon), port: Number(broker.slice(colon + 1)) };
}
