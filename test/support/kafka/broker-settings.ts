/** How a single broker for tests is set up: KRaft, and no more of everything than one needs. */

/** The settings, but for listeners and folders. Under these names in a file; in a container as KAFKA_NODE_ID and so on. */
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
  /** Where it listens on 127.0.0.1; a free port when it is left out. */
  readonly port?: number;
  /** Where it tells clients that it is, when that is the port of a proxy. */
  readonly advertised?: number;
}

/** A broker that tests may kill and start again: what it has acknowledged it still has then. */
export interface Broker {
  /** For KAFKA_BROKERS. */
  readonly address: string;
  /** Where it runs, for people. */
  readonly where: string;
  /** Ends it as a power cut does. */
  kill(): Promise<void>;
  /** Starts it again, at the same address. */
  start(): Promise<void>;
  /** Ends it for good, with all that it stored. */
  remove(): Promise<void>;
}
