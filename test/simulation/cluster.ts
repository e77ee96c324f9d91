/**
 * A simulated process's connection to the brokers: the methods of kafkajs that the service calls, on the model in
 * brokers.ts.
 */
import type { KafkajsBroker, KafkajsCluster } from '../../src/log/kafka/kafkajs-internals.ts';
import { answerOf, brokerIds, type Brokers, type Fate } from './brokers.ts';
import { clock, type SimulatedProcess } from './clock.ts';

/** How long a client waits for an answer, in milliseconds (the default of kafkajs). */
const requestTimeout = 30_000;

/**
 * The probability that a process refreshes its metadata when it looks up leaders because they are a minute old. Much
 * higher than in reality.
 */
const refreshProbability = 0.1;

type Produce = Parameters<KafkajsBroker['produce']>[0];
type Fetch = Parameters<KafkajsBroker['fetch']>[0];

/** Connects a process to the brokers. */
export function connectTo(brokers: Brokers, process: SimulatedProcess): KafkajsCluster {
  return new Cluster(brokers, process) as unknown as KafkajsCluster;
}

/** A process's view of the brokers, with the methods of kafkajs's class. */
class Cluster {
  readonly #brokers: Brokers;
  readonly #process: SimulatedProcess;
  /** The leaders, as this process knows them. */
  #leaders: readonly number[] = [];
  /** The broker to which it has cut its connection. It is not asked for the metadata. */
  #removed: number | null = null;
  /** The brokers that this process has used, and the number of breaks when it connected to each. */
  readonly #known = new Map<string, KafkajsBroker>();
  readonly #connectedAt = new Map<string, number>();

  constructor(brokers: Brokers, process: SimulatedProcess) {
    this.#brokers = brokers;
    this.#process = process;
  }

  async connect(): Promise<void> {
    await this.refreshMetadata();
  }

  async addTargetTopic(): Promise<void> {
    await this.refreshMetadata();
  }

  async refreshMetadata(): Promise<void> {
    const asked = this.#brokers.random.pick(brokerIds.filter((broker) => broker !== this.#removed));
    this.#removed = null;
    await this.#ask(() => {
      this.#leaders = this.#brokers.leadersKnownTo(asked);
    });
  }

  async metadata(): Promise<unknown> {
    return this.#ask(() => ({ brokers: brokerIds.map((nodeId) => ({ nodeId, host: 'broker', port: nodeId })) }));
  }

  async refreshMetadataIfNecessary(): Promise<void> {
    if (this.#brokers.random.chance(refreshProbability)) await this.refreshMetadata();
  }

  findLeaderForPartitions(_topic: string, partitions: readonly number[]): Record<string, number[]> {
    return Object.fromEntries(Map.groupBy(partitions, (partition) => String(this.#leaders[partition]))) as Record<
      string,
      number[]
    >;
  }

  async findBroker({ nodeId }: { readonly nodeId: string }): Promise<KafkajsBroker> {
    const id = Number(nodeId);
    const broker =
      this.#known.get(nodeId) ??
      ({
        produce: (request: Produce) => this.#produce(id, request),
        fetch: (request: Fetch) => this.#fetch(id, request),
        metadata: () => this.#metadata(id),
        isConnected: () => this.#connectedAt.get(nodeId) === this.#brokers.breaks,
      } as unknown as KafkajsBroker);
    this.#known.set(nodeId, broker);
    this.#connectedAt.set(nodeId, this.#brokers.breaks);
    return broker;
  }

  async fetchTopicsOffset([{ partitions, fromBeginning }]: readonly [
    { partitions: readonly { partition: number }[]; fromBeginning: boolean },
  ]): Promise<unknown> {
    // The leaders as known at the time of the call, as in kafkajs.
    const leaders = this.#leaders;
    return this.#ask(() => [
      {
        partitions: partitions.map(({ partition }) => ({
          partition,
          offset: fromBeginning ? '0' : String(this.#brokers.recordsOf(partition, leaders[partition]!).length),
        })),
      },
    ]);
  }

  removeBroker({ port }: { readonly port: number }): void {
    this.#removed = port;
    this.#connectedAt.delete(String(port));
  }

  async disconnect(): Promise<void> {
    // Nothing is kept open.
  }

  /** The leaders of the partitions, as this broker knows them. */
  #metadata(broker: number): Promise<unknown> {
    return this.#ask(() => ({
      topicMetadata: [
        {
          partitionMetadata: this.#brokers
            .leadersKnownTo(broker)
            .map((leader, partitionId) => ({ partitionId, leader })),
        },
      ],
    }));
  }

  async #produce(broker: number, { topicData: [topic] }: Produce): Promise<unknown> {
    const [{ partition, messages }] = topic!.partitions as unknown as [
      { partition: number; messages: readonly { value: Buffer }[] },
    ];
    const brokers = this.#brokers;
    let fate: Fate = brokers.nextFate();
    return this.#ask(() => {
      if (brokers.isDeposed(broker, partition)) fate = { refused: 'REQUEST_TIMED_OUT' };
      else if (brokers.partitions[partition]!.leader !== broker) fate = { refused: 'NOT_LEADER_FOR_PARTITION' };
      if (fate === 'lost') throw this.#broken();
      if (typeof fate === 'object' && 'refused' in fate) throw answerOf(fate.refused);
      const values = messages.map(({ value }) => value);
      if (fate === 'late') {
        clock.schedule(brokers.random.between(100, 90_000), () => brokers.append(partition, values), null);
        throw this.#broken();
      }
      const { offset, time } = brokers.append(partition, values);
      if (fate === 'unanswered') throw this.#broken();
      if (typeof fate === 'object') throw answerOf(fate.written);
      return { topics: [{ partitions: [{ baseOffset: String(offset), logAppendTime: String(time) }] }] };
    });
  }

  async #fetch(broker: number, { topics: [topic], maxWaitTime = 0 }: Fetch): Promise<unknown> {
    const wanted = (topic!.partitions as readonly { partition: number; fetchOffset: string }[]).map(
      ({ partition, fetchOffset }) => ({ partition, from: Number(fetchOffset) }),
    );
    const { breaks } = this.#brokers;
    const isThere = await this.#ask(() =>
      wanted.some(({ partition, from }) => from !== this.#brokers.recordsOf(partition, broker).length),
    );
    if (!isThere)
      await this.#untilRecordsCome(
        wanted.map(({ partition }) => partition),
        maxWaitTime,
      );
    return this.#ask(() => {
      if (breaks !== this.#brokers.breaks) throw this.#broken();
      const found = wanted.map(({ partition, from }) => ({
        partition,
        from,
        records: this.#brokers.recordsOf(partition, broker),
      }));
      for (const { partition, from, records } of found) {
        if (from > records.length)
          throw Object.assign(new Error('there is no such offset'), { name: 'KafkaJSOffsetOutOfRange', partition });
      }
      return {
        responses: [
          {
            partitions: found.map(({ partition, from, records }) => ({
              partition,
              highWatermark: String(records.length),
              messages: records
                .slice(from, from + 100)
                .map(({ time, value }, at) => ({ offset: String(from + at), timestamp: String(time), value })),
            })),
          },
        ],
      };
    });
  }

  #untilRecordsCome(partitions: readonly number[], ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        for (const partition of partitions) this.#brokers.partitions[partition]!.waiting.delete(wake);
        resolve();
      };
      for (const partition of partitions) this.#brokers.partitions[partition]!.waiting.add(wake);
      clock.schedule(ms, wake, null);
    });
  }

  /** Lets a broker do something after a while, and returns its answer after another while. */
  #ask<T>(work: () => T): Promise<T> {
    const { random } = this.#brokers;
    const { breaks } = this.#brokers;
    const process = this.#process;
    return new Promise((resolve, reject) => {
      const later = (ms: number, run: () => void): unknown => clock.schedule(ms, run, process);
      // If the process dies, requests in flight may or may not arrive.
      clock.schedule(
        random.between(0.1, 2),
        () => {
          if (this.#brokers.away) return later(random.chance(0.8) ? 1 : requestTimeout, () => reject(this.#broken()));
          if (!process.isAlive && random.chance(0.5)) return;
          if (breaks !== this.#brokers.breaks) return later(1, () => reject(this.#broken()));
          try {
            const answer = work();
            later(random.between(0.1, 2), () =>
              breaks === this.#brokers.breaks ? resolve(answer) : reject(this.#broken()),
            );
          } catch (error) {
            later(random.between(0.1, 2), () => reject(error as Error));
          }
        },
        null,
      );
    });
  }

  #broken(): Error {
    return Object.assign(new Error('the connection to a broker is broken'), { name: 'KafkaJSConnectionError' });
  }
}
