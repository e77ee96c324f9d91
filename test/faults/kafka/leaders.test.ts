/**
 * Of three brokers, the one that leads the partition under load is killed, or paused until another one leads,
 * repeatedly. Two brokers always have all acknowledged records, so nothing may be lost, and writes go on without the
 * third.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../../scale.ts';
import { outcomeOf, type Client } from '../../support/client.ts';
import {
  brokerSessionMs,
  startBrokerCluster,
  type BrokerCluster,
  type ClusterBroker,
} from '../../support/kafka/broker-cluster.ts';
import { areInSync, busiestPartition, partitionsOf } from '../../support/kafka/partition-leaders.ts';
import { sleepUntil } from '../../support/server.ts';
import { limitMs } from '../../support/time-limits.ts';
import { survive } from '../survive.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

const topic = 'tablog.events';
const faults = scale.leaderFaults;
/**
 * The maximum duration of an election on a slow machine, and of the catching up of a broker that was away, in
 * milliseconds.
 */
const settledMs = 120_000;

let cluster: BrokerCluster;
let deployment: KafkaDeployment;

afterEach(async () => {
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
});

async function leaderOf(brokers: string, partition: number): Promise<ClusterBroker | undefined> {
  const leader = (await partitionsOf(brokers, topic)).find(({ partitionId }) => partitionId === partition)?.leader;
  return cluster.brokers.find(({ id }) => id === leader);
}

/**
 * Takes the leader of the busiest partition away until other brokers lead and writes are accepted again, and for some
 * time longer.
 */
async function takeLeaderAway(
  clients: readonly Client[],
  {
    away,
    back,
    longerMs,
  }: {
    readonly away: (leader: ClusterBroker) => unknown;
    readonly back: (leader: ClusterBroker) => unknown;
    readonly longerMs: number;
  },
): Promise<void> {
  const partition = await busiestPartition(cluster.address, topic);
  const leader = (await leaderOf(cluster.address, partition))!;
  const others = cluster.brokers
    .filter((broker) => broker !== leader)
    .map(({ address }) => address)
    .join(',');
  await away(leader);
  try {
    await sleepUntil(
      async () => {
        const partitions = await partitionsOf(others, topic);
        return partitions.length > 0 && partitions.every((one) => one.leader > 0 && one.leader !== leader.id);
      },
      'other brokers lead',
      settledMs,
    );
    for (const client of clients) {
      const takesWrites = async (): Promise<boolean> =>
        outcomeOf(await client.post('/tables', { name: 'while a broker is away', rows: [] })) === '201';
      await sleepUntil(takesWrites, 'writes are taken without the broker', settledMs);
    }
    await sleep(longerMs);
  } finally {
    await back(leader);
  }
  await sleepUntil(
    () => areInSync(cluster.address, topic, cluster.brokers.length),
    'all brokers are in sync',
    settledMs,
  );
}

test(
  `no acknowledged write is lost when ${faults} leaders are killed or paused`,
  async () => {
    cluster = await startBrokerCluster();
    deployment = await KafkaDeployment.start({ broker: cluster });
    const partitions = await partitionsOf(cluster.address, topic);
    expect(partitions.map(({ replicas }) => replicas.length)).toEqual(partitions.map(() => cluster.brokers.length));
    const clients = await deployment.clients();
    await survive({ clients, verify: () => deployment.verify(), recoveryMs: 60_000 }, async (random) => {
      for (let count = 0; count < faults; count += 1) {
        await sleep(1000 + random() * 1000);
        const isKilled = count % 2 === 0;
        process.stderr.write(`${count + 1}. ${isKilled ? 'killed' : 'paused'}\n`);
        await takeLeaderAway(clients, {
          away: ({ node }) => (isKilled ? node.kill() : node.pause()),
          back: ({ node }) => (isKilled ? node.start() : node.resume()),
          longerMs: random() * 2 * brokerSessionMs,
        });
      }
    });
  },
  limitMs(300_000 + faults * 120_000),
);
