import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { NotAppended } from '../../../../src/log/event-log.ts';
import { KafkaConnection } from '../../../../src/log/kafka/kafka-connection.ts';
import type { KafkajsBroker, KafkajsCluster } from '../../../../src/log/kafka/kafkajs-internals.ts';

/** A cluster of brokers 1 to 3. Metadata comes from those that were not removed, in turn. */
class FakeCluster {
  /** Whom each broker takes for the leader of each partition. */
  readonly knows: Readonly<Record<number, number[]>> = { 1: [1, 2], 2: [1, 2], 3: [1, 2] };
  /** The topics of which a partition has no leader. */
  leaderless = ['another topic'];
  isConnected = true;
  error: Error | null = null;
  /** Called when a broker has answered who leads. */
  onAnswer = (): void => undefined;
  asked: number[] = [];
  /** Resolves while a send is under way. */
  get sending(): Promise<void> {
    this.#began = Promise.withResolvers();
    return this.#began.promise;
  }

  #began = Promise.withResolvers<void>();
  #leaders = [1, 2];
  #removed = 0;

  readonly connect = async (): Promise<void> => undefined;
  readonly addTargetTopic = async (): Promise<void> => undefined;
  refreshMetadataIfNecessary = async (): Promise<void> => undefined;

  /** As kafkajs does: null if a partition of any of these topics has no leader, and of all topics if none is named. */
  async metadata({ topics = [] }: { readonly topics?: readonly string[] } = {}): Promise<unknown> {
    this.isConnected = true;
    if (topics.length === 0 || topics.some((topic) => this.leaderless.includes(topic))) return null;
    return { brokers: [1, 2, 3].map((nodeId) => ({ nodeId, host: 'broker', port: nodeId })) };
  }

  removeBroker({ port }: { readonly port: number }): void {
    this.#removed = port;
  }

  async refreshMetadata(): Promise<void> {
    // Whoever is asked is connected for it.
    this.isConnected = true;
    const asked = [1, 2, 3].find((broker) => broker !== this.#removed)!;
    this.asked.push(asked);
    this.#removed = 0;
    this.#leaders = this.knows[asked]!;
  }

  /** Who leads the partitions, as this client knows it. */
  learn(leaders: number[]): void {
    this.#leaders = leaders;
  }

  findLeaderForPartitions(_topic: string, [partition]: readonly number[]): object {
    return { [this.#leaders[partition!]!]: [partition] };
  }

  async findBroker({ nodeId }: { readonly nodeId: string }): Promise<KafkajsBroker> {
    return {
      isConnected: () => this.isConnected,
      metadata: async () => {
        this.asked.push(Number(nodeId));
        const leaders = this.knows[Number(nodeId)]!;
        this.onAnswer();
        return {
          topicMetadata: [{ partitionMetadata: leaders.map((leader, partitionId) => ({ partitionId, leader })) }],
        };
      },
      produce: async () => {
        this.#began.resolve();
        await setImmediate();
        if (this.error) throw this.error;
        return { topics: [{ partitions: [{ baseOffset: '0', logAppendTime: '0' }] }] };
      },
    } as unknown as KafkajsBroker;
  }
}

async function connect(): Promise<{
  readonly cluster: FakeCluster;
  readonly connection: KafkaConnection;
  readonly doubts: () => number[];
}> {
  const cluster = new FakeCluster();
  const connection = await KafkaConnection.over(cluster as unknown as KafkajsCluster, 'log');
  const doubts = (): number[] => [0, 1].map((partition) => connection.doubtsAbout(partition));
  doubts();
  await connection.send(0, []);
  return { cluster, connection, doubts };
}

describe('the process has new doubts', () => {
  const cases: readonly (readonly [
    string,
    (cluster: FakeCluster, connection: KafkaConnection) => unknown,
    readonly boolean[],
  ])[] = [
    ['about none, while all is well', (_, connection) => connection.send(0, []), [false, false]],
    [
      'about one partition, when a broker refused a send to it',
      async (cluster, connection) => {
        cluster.error = Object.assign(new Error('no'), { type: 'NOT_ENOUGH_REPLICAS' });
        await expect(connection.send(0, [])).rejects.toThrow('no');
      },
      [true, false],
    ],
    [
      'about one partition, when another broker leads it',
      async (cluster) => {
        cluster.knows[1]![1] = 3;
        await cluster.refreshMetadata();
      },
      [false, true],
    ],
    [
      'about all, when a send was not answered',
      async (cluster, connection) => {
        cluster.error = new Error('no answer');
        await expect(connection.send(0, [])).rejects.toThrow('no answer');
      },
      [true, true],
    ],
    [
      'about all, when a connection broke',
      (cluster) => {
        cluster.isConnected = false;
      },
      [true, true],
    ],
    [
      'about all, when a connection broke before somebody was asked who leads',
      async (cluster, connection) => {
        cluster.isConnected = false;
        await connection.findLeaderAnew(0);
      },
      [true, true],
    ],
    [
      'about all, when a connection broke, although a broker only refused a send',
      async (cluster, connection) => {
        cluster.error = Object.assign(new Error('no'), { type: 'NOT_LEADER_FOR_PARTITION' });
        const sent = connection.send(0, []);
        await cluster.sending;
        cluster.isConnected = false;
        await expect(sent).rejects.toThrow('no');
      },
      [true, true],
    ],
  ];
  test.each(cases)('the process has new doubts if %s', async (_name, happens, expected) => {
    const { cluster, connection, doubts } = await connect();
    const before = doubts();
    await happens(cluster, connection);
    expect(doubts().map((count, partition) => count > before[partition]!)).toEqual(expected);
  });
});

describe('a leader is found', () => {
  test('if another broker names the same one', async () => {
    const { cluster, connection } = await connect();
    expect(await connection.findLeaderAnew(0)).toBe('1');
    expect(cluster.asked).toEqual([2, 3]);
  });

  test('if other leaders are named later, while the leaders of other partitions are found', async () => {
    const { cluster, connection } = await connect();
    cluster.onAnswer = () => cluster.learn([3, 2]);
    expect(await Promise.all([0, 1].map((partition) => connection.findLeaderAnew(partition)))).toEqual(['1', '2']);
    expect(connection.leaderOf(0)).toBe('3');
  });

  test('if a deposed one still names itself', async () => {
    const { cluster, connection } = await connect();
    for (const broker of [2, 3]) cluster.knows[broker]![0] = 2;
    expect(await connection.findLeaderAnew(0)).toBe('2');
  });

  test('no leader is found while other tasks hear of a deposed one, which no other broker names', async () => {
    const { cluster, connection } = await connect();
    cluster.knows[3]![0] = 3;
    const { refreshMetadata } = cluster;
    cluster.refreshMetadata = async () => {
      await refreshMetadata.call(cluster);
      cluster.learn([3, 2]);
    };
    await cluster.refreshMetadata();
    cluster.onAnswer = () => cluster.learn([3, 2]);
    await expect(connection.findLeaderAnew(0)).rejects.toThrow('do not agree');
  });

  test('for all partitions that ask at once, and anew the next time', async () => {
    const { cluster, connection } = await connect();
    const search = async (...partitions: number[]): Promise<number> => {
      cluster.asked = [];
      await Promise.all(partitions.map((partition) => connection.findLeaderAnew(partition)));
      return cluster.asked.length;
    };
    const once = await search(0);
    expect(await search(0, 1)).toBeLessThanOrEqual(2 * once);
    expect(await search(0)).toBe(once);
  });

  test('while a broker hangs', async () => {
    const { cluster, connection } = await connect();
    const { findBroker } = cluster;
    cluster.findBroker = (node) =>
      node.nodeId === '2' ? new Promise(() => undefined) : findBroker.call(cluster, node);
    expect(await connection.findLeaderAnew(0)).toBe('1');
  });

  test('no leader is found while no broker names one', async () => {
    const { cluster, connection } = await connect();
    cluster.leaderless = ['log'];
    await expect(connection.findLeaderAnew(0)).rejects.toThrow('no broker names the leaders');
  });

  test('no leader is found while each broker names itself', async () => {
    const { cluster, connection } = await connect();
    for (const broker of [1, 2, 3]) cluster.knows[broker]![0] = broker;
    await expect(connection.findLeaderAnew(0)).rejects.toThrow('do not agree');
  });
});

test('a broker that counted as leader only while it was connected gets no records', async () => {
  const { cluster, connection } = await connect();
  const { findBroker } = cluster;
  cluster.refreshMetadataIfNecessary = async () => cluster.learn([2, 2]);
  cluster.findBroker = (node) => {
    cluster.learn([1, 2]);
    return findBroker.call(cluster, node);
  };
  await expect(connection.send(0, [])).rejects.toThrow(NotAppended);
});
