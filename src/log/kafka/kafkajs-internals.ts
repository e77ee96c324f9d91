/**
 * All uses of kafkajs beyond its documented interface. They are checked when this process first needs Kafka. If kafkajs
 * is incompatible, the start fails with one line that names what is missing, instead of breaking later.
 */
import { createRequire } from 'node:module';
import type { Broker, BrokerMetadata, Cluster, Kafka } from 'kafkajs';

const expectedVersion = '2.2.4';

/** The installed kafkajs is not the version that this code supports. The message is one line. */
export class UnsupportedKafkajs extends Error {
  override readonly name = 'UnsupportedKafkajs';
}

const clusterMethods = [
  'addTargetTopic',
  'connect',
  'disconnect',
  'fetchTopicsOffset',
  'findBroker',
  'findLeaderForPartitions',
  'metadata',
  'refreshMetadata',
  'refreshMetadataIfNecessary',
  'removeBroker',
] as const satisfies readonly (keyof Cluster)[];

const brokerMethods = ['fetch', 'isConnected', 'metadata', 'produce'] as const satisfies readonly (keyof Broker)[];

/** The broker methods that are checked, and therefore may be used. */
export type KafkajsBroker = Pick<Broker, (typeof brokerMethods)[number]>;

/** The cluster methods that are checked, and therefore may be used. */
export type KafkajsCluster = Pick<Cluster, Exclude<(typeof clusterMethods)[number], 'findBroker' | 'metadata'>> & {
  findBroker(node: { nodeId: string }): Promise<KafkajsBroker>;
  /** Null if no broker answers without an error for any of these topics. `topics: []` asks for all topics. */
  metadata(of: { readonly topics: readonly string[] }): Promise<BrokerMetadata | null>;
};

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

interface RequestQueueClass {
  new (options: object): RequestQueue;
  readonly prototype: RequestQueue;
}

interface Connection {
  connect(): Promise<unknown>;
}

interface PooledBroker {
  disconnect(): Promise<unknown>;
}

interface BrokerPool {
  readonly brokers: Readonly<Record<string, PooledBroker>>;
  /** The broker that is asked first if none is connected. */
  seedBroker: PooledBroker | undefined;
  removeBroker(address: object): void;
}

const brokerPoolPath = 'kafkajs/src/cluster/brokerPool';
const requestQueuePath = 'kafkajs/src/network/requestQueue';
const connectionPath = 'kafkajs/src/network/connection';

/** The methods that a class must have, by the module that exports the class. */
const requiredMethods = {
  [requestQueuePath]: ['scheduleCheckPendingRequests'],
  [connectionPath]: ['connect'],
  [brokerPoolPath]: ['removeBroker'],
  'kafkajs/src/cluster': clusterMethods,
  'kafkajs/src/broker': brokerMethods,
} as const;

/** Loads a module by its path, as `require` does. */
export type LoadModule = (path: string) => unknown;

/**
 * Checks the installed kafkajs, then patches four bugs of 2.2.4. (1) Each connection polls for pending requests every
 * millisecond, even if there are none. (2) Two concurrent requests that need a connection open a socket each, and one
 * socket is never closed. (3) A broker that is removed keeps its sockets. (4) If the last broker is removed, requests
 * in flight fail with a TypeError and are not retried. Call it once. If it throws UnsupportedKafkajs, nothing was
 * patched.
 */
export function patchKafkajs(load: LoadModule = createRequire(import.meta.url)): void {
  const version =
    attempt(() => (load('kafkajs/package.json') as { readonly version: string }).version) ?? 'an unknown version';
  const missing = findMissing(load);
  if (version !== expectedVersion || missing.length > 0) {
    const lacks = missing.length > 0 ? ` and lacks ${missing.join(', ')}` : '';
    throw new UnsupportedKafkajs(
      `kafkajs ${expectedVersion} is needed, because its internals are used: ${version} is installed${lacks}. Run \`npm ci\`.`,
    );
  }
  const { prototype } = load(requestQueuePath) as RequestQueueClass;
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleWhilePending(this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
  connectOnce((load(connectionPath) as { readonly prototype: Connection }).prototype);
  disconnectRemoved((load(brokerPoolPath) as { readonly prototype: BrokerPool }).prototype);
}

/**
 * Disconnects removed brokers. Without this, they are disconnected only if they end the connection. If no broker is
 * left, the last one stays the first to be asked.
 */
function disconnectRemoved(prototype: BrokerPool): void {
  const { removeBroker } = prototype;
  prototype.removeBroker = function removeAndDisconnect(this: BrokerPool, address: object): void {
    const before = Object.values(this.brokers);
    const { seedBroker } = this;
    removeBroker.call(this, address);
    this.seedBroker ??= seedBroker;
    const left = new Set(Object.values(this.brokers));
    for (const broker of before.filter((one) => !left.has(one))) broker.disconnect().catch(() => undefined);
  };
}

/** Shares one connection attempt among concurrent callers. */
function connectOnce(prototype: Connection): void {
  const { connect } = prototype;
  const attempts = new WeakMap<Connection, Promise<unknown>>();
  prototype.connect = function connectWithOthers(this: Connection): Promise<unknown> {
    const underWay = attempts.get(this);
    if (underWay) return underWay;
    const attempt = connect.call(this).finally(() => attempts.delete(this));
    attempts.set(this, attempt);
    return attempt;
  };
}

/**
 * The cluster of a client. kafkajs creates clusters only for its own clients, but passes the cluster of a consumer to
 * the consumer's partition assigners.
 */
export function clusterOf(kafka: Kafka): KafkajsCluster {
  let found: Cluster | undefined;
  kafka.consumer({
    groupId: 'tablog-unused',
    allowAutoTopicCreation: false,
    metadataMaxAge: 60_000,
    partitionAssigners: [
      ({ cluster }) => {
        found = cluster;
        return {
          name: 'unused',
          version: 0,
          assign: async () => [],
          protocol: () => ({ name: 'unused', metadata: Buffer.alloc(0) }),
        };
      },
    ],
  });
  if (!found) throw new UnsupportedKafkajs('kafkajs gave no cluster to the partition assigner of a consumer');
  return found;
}

/** The required methods and fields that are missing. */
function findMissing(load: LoadModule): string[] {
  const missing = Object.entries(requiredMethods).flatMap(([path, methods]) => {
    const prototype = attempt(
      () => (load(path) as { readonly prototype: Readonly<Record<string, unknown>> }).prototype,
    );
    return methods.filter((method) => typeof prototype?.[method] !== 'function').map((method) => `${path}#${method}`);
  });
  const queue = attempt(() => new (load(requestQueuePath) as RequestQueueClass)({}));
  return Array.isArray(queue?.pending) ? missing : [...missing, `${requestQueuePath}#pending`];
}

/** The result of `look`, or undefined if it throws. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
