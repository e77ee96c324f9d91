/** Processes whose appends hang, and what they say of it. */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Client } from '../support/client.ts';
import { parseMetrics } from '../support/metrics.ts';
import { sleepUntil, type TestServer } from '../support/server.ts';

/** Node's arguments for a process whose appends hang from SIGUSR2 on. */
export const hangs = ['--import', join(import.meta.dirname, 'hangs.ts')];

/** From then on the appends of this process hang, and one does already. */
export async function hang(server: TestServer, client: Client): Promise<void> {
  const post = (): void => void client.post('/tables', { name: 'hangs', rows: [] }).catch(() => undefined);
  server.process.kill('SIGUSR2');
  post();
  await sleepUntil(async () => {
    if ((await oldestAppend(server)).seconds > 0.1) return true;
    // The first one may be appended before the signal arrives.
    post();
    return false;
  }, 'an append hangs');
}

async function oldestAppend({
  url,
}: TestServer): Promise<{ readonly partition: string | undefined; readonly seconds: number }> {
  const samples = parseMetrics(await (await fetch(`${url}/metrics`)).text()).filter(
    ({ name }) => name === 'tablog_log_oldest_append_seconds',
  );
  const [oldest] = samples.toSorted((a, b) => b.value - a.value);
  return { partition: oldest?.labels['partition'], seconds: oldest?.value ?? 0 };
}

export async function exitCodeOf({ process: child }: TestServer): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Expects that a process in which appends hang becomes not ready, and says `what` of the partition. */
export async function expectStandstill(server: TestServer, what: string): Promise<void> {
  const { partition, seconds } = await oldestAppend(server);
  let message = '';
  await sleepUntil(async () => {
    const response = await fetch(`${server.url}/readyz`);
    if (response.status === 200) return false;
    ({
      error: { message },
    } = (await response.json()) as { error: { message: string } });
    return true;
  }, 'it is not ready');
  expect(message).toMatch(
    new RegExp(`^Partition ${partition} has stood still for \\d+ s: \\d+ appends? waits? for ${what}\\.$`),
  );
  expect((await oldestAppend(server)).seconds).toBeGreaterThan(seconds);
}
