/** Jest's global tear-down. The globals are declared in start-postgres.ts and start-kafka.ts. */

export default async function stopServers(): Promise<void> {
  const { sharedPostgres, sharedKafka } = globalThis;
  globalThis.sharedPostgres = undefined;
  globalThis.sharedKafka = undefined;
  await Promise.all([sharedPostgres?.stop(), sharedKafka?.stop()]);
}
