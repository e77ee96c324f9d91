/** `sharedPostgres` is declared in start-postgres.ts. */

export default async function stopPostgres(): Promise<void> {
  const shared = globalThis.sharedPostgres;
  globalThis.sharedPostgres = undefined;
  await shared?.stop();
}
