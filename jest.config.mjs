import { join } from 'node:path';
import { isFull } from './test/scale.ts';
import { canRunBroker, canShiftClocks } from './test/support/kafka/kafka-jars.ts';
import { findChromium } from './test/support/chromium.ts';
import { hasHelm } from './test/support/helm.ts';
import { hasPromtool } from './test/support/promtool.ts';
import { findKafka } from './test/support/kafka/shared-kafka.ts';
import { limitMs, measureSlowness } from './test/support/time-limits.ts';

/**
 * What is tried on Kafka too: what the log or the deployment has a part in. The formats of rows, types, headers and
 * errors are the same wherever the service runs, and are tried once; with TEST_SCALE=full (`npm run test:all`) all that
 * can be is tried everywhere.
 */
const onKafka = {
  servers: isFull ? ['log/copy-log', 'log/event-log', 'log/plans'] : ['log/event-log'],
  // Where the service is split into several processes, which has more to it than one.
  api: ['idempotency', 'imports-at-once', 'jobs', 'keys', 'model', 'team', 'token-life', 'upsert', 'versions'],
  replay: isFull
    ? [
        'batches',
        'compaction',
        'mutations',
        'replay',
        'replay-beside-service',
        'two-read-models',
        'upgrade',
        'verify-by-digest',
        'written-before',
      ]
    : ['replay-beside-service', 'upgrade'],
  faults: isFull ? ['*'] : ['false-refusals', 'kills', 'leaders'],
};

/**
 * Node runs the TypeScript files as they are, so there is nothing to transform. `files`: names of test files, as
 * patterns.
 */
const project = (name, folder = name, files = ['*']) => ({
  displayName: name,
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: files.map((file) => `<rootDir>/test/${folder}/${file === '*' ? '**/*' : file}.test.ts`),
});

/** The servers that these need are started before them and stopped after them; tests make what is theirs in them. */
const onServers = (name, folder, deploymentKind, files) => ({
  ...project(name, folder, files),
  globals: { deploymentKind },
  globalSetup: `<rootDir>/test/support/${deploymentKind === 'postgres' ? 'start-postgres' : 'start-kafka'}.ts`,
  globalTeardown: '<rootDir>/test/support/stop-servers.ts',
});

// A task that takes a second connection of a pool fails, also in the processes that tests start
// (src/storage/database/one-connection.ts).
process.env.TABLOG_CHECK_CONNECTIONS ??= 'true';

// Most of what a short process costs is compiling its modules: those that tests start keep what was compiled.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules', '.cache', 'tablog', 'compiled');

measureSlowness();

const hasKafka = (await findKafka()) !== null;
if (!hasKafka) {
  process.stderr.write(
    'The suites on Kafka do not run here: there is no KAFKA_BROKERS, no Docker engine, and no Java with Maven.\n',
  );
}
const hasBrowser = findChromium() !== null;
if (!hasBrowser)
  process.stderr.write(
    'The tests of the console do not run here: there is no Chromium (the package `chromium` of Debian, or CHROMIUM=path).\n',
  );
if (!hasBrowser && process.env.TABLOG_TEST_REQUIRES_BROWSER !== undefined)
  throw new Error('TABLOG_TEST_REQUIRES_BROWSER is set, and there is no Chromium.');
if (!hasPromtool()) {
  process.stderr.write(
    'The alerts and the dashboard are not tested here: there is no promtool (the package `prometheus` of Debian).\n',
  );
  if (process.env.TABLOG_TEST_REQUIRES_PROMTOOL !== undefined)
    throw new Error('TABLOG_TEST_REQUIRES_PROMTOOL is set, and there is no promtool.');
}
if (!hasHelm()) {
  process.stderr.write('The Helm chart is not tested here: there is no helm.\n');
  if (process.env.TABLOG_TEST_REQUIRES_HELM !== undefined)
    throw new Error('TABLOG_TEST_REQUIRES_HELM is set, and there is no helm.');
}

/** These run brokers as processes even if there is a Docker engine. */
const impossible = [
  ...((await canRunBroker()) ? [] : ['leaders']),
  ...((await canShiftClocks()) ? [] : ['broker-clocks']),
];
if (hasKafka && impossible.length > 0)
  process.stderr.write(`Without a Java JDK and Maven these tests do not run: ${impossible.join(', ')}.\n`);
if (!isFull)
  process.stderr.write(
    'This is the short run: what random tests do at length, and more on Kafka, is in `npm run test:all`.\n',
  );

/**
 * Files that cost much or need Python, and try in one more place or way what others try: they run only with
 * TEST_SCALE=full.
 */
const onlyInFull = isFull
  ? []
  : [
      'unit/.*/python-dialects\\.property',
      'api/upload-life-s3',
      'faults/(imports|promoted-standby|s3-away|uploads)',
      'integration/.*/(backup-s3|client-packages)',
      'replay/two-read-models',
    ].map((files) => `/test/${files}\\.test\\.ts$`);

/**
 * What `npm test` (`core`) and `npm run test:processes`, `test:kafka` and `test:console` run; without TEST_ON, as for
 * one project by its name, it is all.
 */
const groups = {
  core: [
    { ...project('unit'), testPathIgnorePatterns: onlyInFull },
    project('simulation'),
    onServers('servers', 'servers', 'postgres'),
    { ...onServers('api', 'api', 'postgres'), testPathIgnorePatterns: onlyInFull },
    onServers('hostile', 'hostile', 'postgres'),
    onServers('fuzz', 'fuzz', 'postgres'),
    { ...onServers('replay', 'replay', 'postgres'), testPathIgnorePatterns: onlyInFull },
  ],
  processes: [
    {
      ...project('integration', '{integration,toy-capability}'),
      testPathIgnorePatterns: [
        ...onlyInFull,
        ...(hasPromtool() ? [] : ['/watching(-live)?\\.test\\.ts$']),
        ...(hasHelm() ? [] : ['/chart\\.test\\.ts$']),
      ],
    },
    { ...onServers('faults', 'faults', 'postgres'), testPathIgnorePatterns: [...onlyInFull, '/test/faults/kafka/'] },
  ],
  console: hasBrowser ? [onServers('console', 'console', 'postgres')] : [],
  kafka: hasKafka
    ? [
        onServers('servers on kafka', 'servers', 'kafka', onKafka.servers),
        onServers('move', 'move', 'kafka', isFull ? ['*'] : ['closed-log', 'move-log', 'interrupted-restore']),
        ...(isFull ? [onServers('api on kafka', 'api', 'kafka')] : []),
        // Each API process has a query engine of its own, and these are about one.
        {
          ...onServers('api on kafka, split', 'api', 'kafka-split', isFull ? ['*'] : onKafka.api),
          testPathIgnorePatterns: ['/api/(copies|sql-attempts|sql-timeouts)\\.test\\.ts$'],
        },
        ...(isFull
          ? [onServers('hostile on kafka', 'hostile', 'kafka'), onServers('fuzz on kafka', 'fuzz', 'kafka', ['fuzz'])]
          : []),
        onServers('replay on kafka', 'replay', 'kafka', onKafka.replay),
        // These kill their brokers, and so have their own.
        {
          ...project('faults on kafka', 'faults/kafka', onKafka.faults),
          testPathIgnorePatterns: impossible.map((file) => `/${file}\\.test\\.ts$`),
        },
      ]
    : [],
};
const chosen = process.env.TEST_ON?.split(',') ?? Object.keys(groups);

export default {
  // Each test has processes of its own at work beside it: more would only make them late.
  maxWorkers: 2,
  // Only a failure takes as long.
  testTimeout: limitMs(300_000),
  reporters: ['default', '<rootDir>/test/support/durations.ts'],
  projects: chosen.flatMap((name) => groups[name]),
};
