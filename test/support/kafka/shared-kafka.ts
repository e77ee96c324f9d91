/**
 * The shared Kafka of the tests: the one of KAFKA_BROKERS, or a container if there is a Docker engine, or a process
 * from the Apache jars if there are Java and Maven.
 */
import { hasEngine } from '../docker-engine.ts';
import { startBrokerContainer } from './broker-container.ts';
import { startBrokerProcess } from './broker-process.ts';
import type { Broker, BrokerPorts } from './broker-settings.ts';
import { canRunBroker } from './kafka-jars.ts';

export interface SharedKafka {
  /** For KAFKA_BROKERS. */
  readonly brokers: string;
  /** A description of where it runs. */
  readonly where: string;
  stop(): Promise<void>;
}

/** How this machine can provide a Kafka; null if it cannot. */
export async function findKafka(): Promise<'given' | 'container' | 'process' | null> {
  if (process.env['KAFKA_BROKERS']) return 'given';
  if (await hasEngine()) return 'container';
  if (process.env['TABLOG_TEST_REQUIRES_CONTAINERS'] === 'true')
    throw new Error('there is no Docker engine for the tests');
  return (await canRunBroker()) ? 'process' : null;
}

export async function startSharedKafka(): Promise<SharedKafka> {
  const given = process.env['KAFKA_BROKERS'];
  if (given) return { brokers: given, where: 'the brokers of KAFKA_BROKERS', stop: async () => undefined };
  const broker = await startBroker();
  return { brokers: broker.address, where: broker.where, stop: () => broker.remove() };
}

/** Starts a separate broker, which tests may kill. */
export async function startBroker(ports: BrokerPorts = {}): Promise<Broker> {
  const how = await findKafka();
  if (how === 'process') return startBrokerProcess(ports);
  if (how === 'container') return startBrokerContainer(ports);
  throw new Error('there is neither a Docker engine nor Java with Maven to run a broker with');
}
