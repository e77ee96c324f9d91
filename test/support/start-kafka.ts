/** Jest's global setup for tests on Kafka: starts the shared Kafka and the shared Postgres. */
import { startSharedKafka, type SharedKafka } from './kafka/shared-kafka.ts';
import startPostgres from './start-postgres.ts';
import stopServers from './stop-servers.ts';

declare global {
  // oxlint-disable-next-line no-var -- a global of the process that runs Jest
  var sharedKafka: SharedKafka | undefined;
}

export default async function startKafka(): Promise<void> {
  const startingPostgres = startPostgres();
  if (globalThis.sharedKafka) return startingPostgres;
  try {
    [globalThis.sharedKafka] = await Promise.all([startSharedKafka(), startingPostgres]);
  } catch (error) {
    // Jest runs no global teardown if the setup fails.
    await startingPostgres.catch(() => undefined);
    await stopServers();
    throw error;
  }
  process.env['TABLOG_TEST_KAFKA'] = globalThis.sharedKafka.brokers;
  process.stderr.write(`Kafka for the tests: ${globalThis.sharedKafka.where}\n`);
}
