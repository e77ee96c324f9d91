/** The settings of a single test broker: KRaft, and all sizes at their minimum. */

/** All settings except listeners and folders. A file uses these names; a container uses KAFKA_NODE_ID and so on. */
export const brokerSettings: Readonly<Record<string, string>> = {
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'auto.create.topics.enable': 'false',
  'group.initial.rebalance.delay.ms': '0',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'log.cleaner.dedupe.buffer.size': '8388608',
};

export interface BrokerPorts {
  /** Its port on 127.0.0.1; a free port if omitted. */
  readonly port?: number;
  /** The port that it advertises to clients, if that is the port of a proxy. */
  readonly advertised?: number;
}

/** A broker that tests may kill and start again. It keeps acknowledged records. */
export interface Broker {
  /** For KAFKA_BROKERS. */
  readonly address: string;
  /** A description of where it runs. */
  readonly where: string;
  /** Kills it, like a power failure. */
  kill(): Promise<void>;
  /** Starts it again, at the same address. */
  start(): Promise<void>;
  /** Copies its data, under a name. It must be killed. */
  backUp(name: string): Promise<void>;
  /** Replaces its data by a copy. It must be killed. */
  restore(name: string): Promise<void>;
  /** Ends it for good, and removes its data. */
  remove(): Promise<void>;
}
