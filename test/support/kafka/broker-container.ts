/** A broker in a container. */
import { dirname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { limitMs } from '../time-limits.ts';
import { brokerSettings, type Broker, type BrokerPorts } from './broker-settings.ts';
import { freePort } from '../server.ts';
import { untilBrokerAnswers } from './until-broker-answers.ts';

/** On a busy machine the default of a minute is too short. */
const startWithinMs = 180_000;

const dataFolder = '/tmp/tablog-data';

const kafkaImage = process.env['KAFKA_IMAGE'] ?? 'apache/kafka:4.3.1';

/**
 * Starts a broker whose port is published on 127.0.0.1. The port is chosen before the start, because a broker
 * advertises its address.
 */
export async function startBrokerContainer(ports: BrokerPorts = {}): Promise<Broker> {
  const port = ports.port ?? (await freePort());
  const address = `127.0.0.1:${ports.advertised ?? port}`;
  const settings = Object.entries(brokerSettings).map(([name, value]) => [
    `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`,
    value,
  ]);
  const container = await new GenericContainer(kafkaImage)
    .withExposedPorts({ container: 9092, host: port })
    .withEnvironment({
      ...Object.fromEntries(settings),
      KAFKA_LISTENERS: 'PLAINTEXT://:9092,CONTROLLER://:9093',
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://${address}`,
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_LOG_DIRS: dataFolder,
      KAFKA_HEAP_OPTS: '-Xms128m -Xmx384m',
    })
    .withAutoRemove(false)
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(limitMs(startWithinMs))
    .start();
  await untilBrokerAnswers(address);
  const { container: engine } = await getContainerRuntimeClient();
  const handle = engine.getById(container.getId());
  const backups = new Map<string, Buffer>();
  return {
    address,
    where: `the container image ${kafkaImage}`,
    kill: async () => {
      await handle.kill();
    },
    backUp: async (name) => {
      backups.set(name, await buffer(await handle.getArchive({ path: dataFolder })));
    },
    // The files of a log have the same names in each copy, and files after its end are ignored.
    restore: async (name) => {
      await handle.putArchive(backups.get(name)!, { path: dirname(dataFolder) });
    },
    start: async () => {
      await handle.start();
      await untilBrokerAnswers(address);
    },
    remove: async () => {
      await container.stop({ remove: true, timeout: 0 });
    },
  };
}
