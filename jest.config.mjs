import { findKafka } from './test/support/kafka/shared-kafka.ts';

/** Node runs the TypeScript files as they are, so there is nothing to transform. */
const project = (name, folder = name) => ({
  displayName: name,
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: [`<rootDir>/test/${folder}/**/*.test.ts`],
});

/** The servers that these need are started before them and stopped after them; tests make what is theirs in them. */
const onServers = (name, folder, deploymentKind) => ({
  ...project(name, folder),
  globals: { deploymentKind },
  globalSetup: `<rootDir>/test/support/${deploymentKind === 'postgres' ? 'start-postgres' : 'start-kafka'}.ts`,
  globalTeardown: '<rootDir>/test/support/stop-servers.ts',
});

const hasKafka = (await findKafka()) !== null;
if (!hasKafka) {
  process.stderr.write(
    'The suites on Kafka do not run here: there is no KAFKA_BROKERS, no Docker engine, and no Java with Maven.\n',
  );
}

export default {
  maxWorkers: 2,
  testTimeout: 120_000,
  projects: [
    project('unit'),
    project('integration'),
    onServers('engine', 'engine', 'postgres'),
    onServers('log', 'log', 'postgres'),
    onServers('api', 'api', 'postgres'),
    onServers('replay', 'replay', 'postgres'),
    { ...onServers('faults', 'faults', 'postgres'), testPathIgnorePatterns: ['/test/faults/kafka/'] },
    ...(hasKafka
      ? [
        onServers('log on kafka', 'log', 'kafka'),
        onServers('api on kafka', 'api', 'kafka'),
        onServers('api on kafka, split', 'api', 'kafka-split'),
        onServers('replay on kafka', 'replay', 'kafka'),
        // These kill their brokers, and so have their own.
        project('faults on kafka', 'faults/kafka'),
      ]
      : []),
  ],
};
