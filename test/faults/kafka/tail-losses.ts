/** Ways in which brokers lose the last records that they acknowledged. */
import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import kafkajs, { type Admin } from 'kafkajs';
import { startBrokerCluster } from '../../support/kafka/broker-cluster.ts';
import { startBrokerProcess } from '../../support/kafka/broker-process.ts';
import type { Broker } from '../../support/kafka/broker-settings.ts';
import { areInSync, partitionsOf, withBrokers } from '../../support/kafka/partition-leaders.ts';
import { startBroker } from '../../support/kafka/shared-kafka.ts';
import { sleepUntil } from '../../support/server.ts';

const { ConfigResourceTypes, ConfigSource } = kafkajs;

const topic = 'tablog.events';
/** The maximum duration of an election on a slow machine, in milliseconds. */
const settledMs = 120_000;

/** Brokers that are about to lose records. */
interface LossyBrokers {
  readonly broker: Broker;
  /** Records that are acknowledged from now on will be lost. */
  mark(): Promise<void>;
  /** Loses them, and runs again. Afterwards the backup `whole` has everything. */
  lose(): Promise<void>;
}

export interface TailLoss {
  readonly name: string;
  /** Whether the brokers are processes, which need the jars of Kafka. */
  readonly needsJars: boolean;
  start(): Promise<LossyBrokers>;
}

export const tailLosses: readonly TailLoss[] = [
  { name: 'a broker comes back with an older copy of its disk', needsJars: false, start: startWithOlderCopy },
  { name: 'the segment files of a broker are cut', needsJars: true, start: startWithCutSegments },
  { name: 'a broker that lagged behind becomes the leader of three', needsJars: true, start: startWithUncleanElection },
];

async function startWithOlderCopy(): Promise<LossyBrokers> {
  const broker = await startBroker();
  return {
    broker,
    mark: async () => {
      await broker.kill();
      await broker.backUp('shorter');
      await broker.start();
    },
    lose: async () => {
      await broker.kill();
      await broker.backUp('whole');
      await broker.restore('shorter');
      await broker.start();
    },
  };
}

/** How many bytes of the first lost batch remain: less than its header, so the broker drops them. */
const tornBytes = 20;

async function startWithCutSegments(): Promise<LossyBrokers> {
  const broker = await startBrokerProcess();
  const { dataFolder } = broker.node;
  let sizes: ReadonlyMap<string, number> = new Map();
  return {
    broker,
    mark: async () => {
      sizes = await sizesOfSegments(dataFolder);
    },
    lose: async () => {
      await broker.kill();
      await broker.backUp('whole');
      for (const [file, size] of await sizesOfSegments(dataFolder)) {
        if (size > sizes.get(file)!) await truncate(file, sizes.get(file)! + tornBytes);
      }
      await broker.start();
    },
  };
}

/** The first segment file of each partition, and its size in bytes. */
async function sizesOfSegments(dataFolder: string): Promise<ReadonlyMap<string, number>> {
  const folders = (await readdir(dataFolder)).filter((name) => name.startsWith(`${topic}-`));
  const files = folders.map((folder) => join(dataFolder, folder, '00000000000000000000.log'));
  return new Map(await Promise.all(files.map(async (file) => [file, (await stat(file)).size] as const)));
}

/**
 * One of three brokers is killed, and only that one returns after a power failure. The topic is allowed to go on with
 * it.
 */
async function startWithUncleanElection(): Promise<LossyBrokers> {
  const cluster = await startBrokerCluster({ controllerApart: true });
  const [stale, ...inSync] = cluster.brokers;
  const staleLeads = async (): Promise<boolean> => {
    const partitions = await partitionsOf(stale!.address, topic);
    return partitions.length > 0 && partitions.every(({ leader }) => leader === stale!.id);
  };
  return {
    broker: cluster,
    mark: () => stale!.node.kill(),
    lose: async () => {
      await cluster.kill();
      await cluster.backUp('whole');
      await Promise.all([cluster.controller!.launch(), ...inSync.map(({ node }) => node.start())]);
      // While the topic has leaders, because kafkajs sends no request about a topic without leaders.
      await allowUncleanElections(cluster.address, true);
      await Promise.all(inSync.map(({ node }) => node.kill()));
      // It does not answer kafkajs until other topics have leaders, which they do not have without the other brokers.
      await stale!.node.launch();
      await sleepUntil(staleLeads, 'the broker that lagged behind leads', settledMs);
      await Promise.all(inSync.map(({ node }) => node.start()));
      await sleepUntil(
        () => areInSync(cluster.address, topic, cluster.brokers.length),
        'all brokers are in sync',
        settledMs,
      );
      // A process does not start on a topic with this setting.
      await allowUncleanElections(cluster.address, false);
    },
  };
}

async function allowUncleanElections(brokers: string, allowed: boolean): Promise<void> {
  const alter = (): Promise<boolean> =>
    withBrokers(brokers, async (admin) => {
      const settings = { ...(await settingsOf(admin)), 'unclean.leader.election.enable': String(allowed) };
      const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
      await admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
      });
      return true;
    }).catch(() => false);
  // Clients may be referred to a broker that has died, until its session ends.
  await sleepUntil(alter, 'the settings of the topic are altered', settledMs);
}

/** The settings of the topic itself. To change one of them, all must be sent again. */
async function settingsOf(admin: Admin): Promise<Readonly<Record<string, string>>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  });
  const given = resources[0]!.configEntries.filter(({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG);
  return Object.fromEntries(given.map(({ configName, configValue }) => [configName, configValue]));
}
