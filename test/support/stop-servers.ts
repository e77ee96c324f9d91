/** Jest's global teardown. The globals are declared in start-postgres.ts and start-kafka.ts. */

export default async function stopServers(): Promise<void> {
  const { deploymentServer, sharedPostgres, sharedKafka } = globalThis;
  globalThis.deploymentServer = undefined;
  globalThis.sharedPostgres = undefined;
  globalThis.sharedKafka = undefined;
  try {
    await deploymentServer?.stop();
  } finally {
    await Promise.all([sharedPostgres?.stop(), sharedKafka?.stop()]);
  }
}
