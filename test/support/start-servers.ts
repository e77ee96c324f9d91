/** Jest's global set-up: the Postgres that all tests share, and the Kafka where a project needs one. Started once a run. */
import type { Config } from '@jest/types';
import { startSharedKafka, type SharedKafka } from './kafka/shared-kafka.ts';
import { startSharedPostgres, type SharedPostgres } from './postgres.ts';

declare global {
  // oxlint-disable-next-line no-var -- globals of the process that runs Jest
  var sharedPostgres: SharedPostgres | undefined, sharedKafka: SharedKafka | undefined;
}

export default async function startServers(_global: Config.GlobalConfig, project: Config.ProjectConfig): Promise<void> {
  if (!globalThis.sharedPostgres) {
    globalThis.sharedPostgres = await startSharedPostgres();
    process.env['TABLOG_TEST_POSTGRES'] = globalThis.sharedPostgres.url;
    process.stderr.write(`Postgres for the tests: ${globalThis.sharedPostgres.where}\n`);
  }
  if (project.globals['deploymentKind'] === 'postgres' || globalThis.sharedKafka) return;
  globalThis.sharedKafka = await startSharedKafka();
  process.env['TABLOG_TEST_KAFKA'] = globalThis.sharedKafka.brokers;
  process.stderr.write(`Kafka for the tests: ${globalThis.sharedKafka.where}\n`);
}
