/** Three brokers as local processes. A log has three copies, and a send counts once two brokers have it. */
import type { Broker } from './broker-settings.ts';
import { brokerOf, KafkaNode } from './broker-process.ts';
import { freePort } from '../server.ts';

const size = 3;

/** A broker of a cluster. */
export interface ClusterBroker {
  /** Its `node.id`, by which partitions name their leader. */
  readonly id: number;
  readonly address: string;
  readonly node: KafkaNode;
}

/** The whole cluster as one broker, and its parts. */
export interface BrokerCluster extends Broker {
  readonly brokers: readonly ClusterBroker[];
  /** The controller, if it is a process of its own. */
  readonly controller: KafkaNode | null;
}

interface ClusterOptions {
  /**
   * Whether a fourth process is the only controller, so that a single remaining broker can become a leader. Otherwise
   * each broker is also a controller, and two of the three must run.
   */
  readonly controllerApart?: boolean;
}

/** After this much silence, in milliseconds, a broker is neither leader nor in sync. It is short, so that tests are fast. */
export const brokerSessionMs = 3000;

const settings = {
  'broker.session.timeout.ms': String(brokerSessionMs),
  'broker.heartbeat.interval.ms': '500',
  'replica.lag.time.max.ms': String(brokerSessionMs),
  'offsets.topic.replication.factor': String(size),
};

/** Uses little memory, and compiles little, because the processes run only for a minute. */
const javaOptions = ['-Xms64m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

/** Starts the cluster on free ports of 127.0.0.1. Resolves when each broker answers. */
export async function startBrokerCluster({ controllerApart = false }: ClusterOptions = {}): Promise<BrokerCluster> {
  const ids = Array.from({ length: size }, (_, at) => at + 1);
  const controllerIds = controllerApart ? [size + 1] : ids;
  const controllers = new Map<number, string>();
  for (const id of controllerIds) controllers.set(id, `127.0.0.1:${await freePort()}`);
  const shared = {
    ...settings,
    'controller.quorum.voters': Array.from(controllers, ([id, address]) => `${id}@${address}`).join(','),
  };
  const brokers: ClusterBroker[] = [];
  for (const id of ids) {
    const [address, controller] = [`127.0.0.1:${await freePort()}`, controllers.get(id)];
    const node = await KafkaNode.create({
      settings: {
        ...shared,
        'node.id': String(id),
        'process.roles': controller ? 'broker,controller' : 'broker',
        'listeners': `PLAINTEXT://${address}${controller ? `,CONTROLLER://${controller}` : ''}`,
        'advertised.listeners': `PLAINTEXT://${address}`,
      },
      answersAt: address,
      javaOptions,
    });
    brokers.push({ id, address, node });
  }
  const controller = controllerApart
    ? await KafkaNode.create({
        settings: {
          ...shared,
          'node.id': String(size + 1),
          'process.roles': 'controller',
          'listeners': `CONTROLLER://${controllers.get(size + 1)}`,
        },
        answersAt: null,
        javaOptions,
      })
    : null;
  const nodes = [...brokers.map(({ node }) => node), ...(controller ? [controller] : [])];
  const cluster = brokerOf(nodes, brokers.map(({ address }) => address).join(','));
  try {
    await cluster.start();
  } catch (error) {
    await cluster.remove();
    throw error;
  }
  return { ...cluster, brokers, controller };
}
