/**
 * An API process whose sends to Kafka hang for ever says so, and ends: by itself, and when it is told to. Another one
 * goes on.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Client } from '../../support/client.ts';
import { parseMetrics } from '../../support/metrics.ts';
import { sleepUntil, type TestServer } from '../../support/server.ts';
import { useDeployment } from './use-deployment.ts';

const deployment = useDeployment({
  roles: ['projector', 'api', 'api', 'api'],
  nodeArgs: ['--import', join(import.meta.dirname, '..', 'hangs.ts')],
  environment: { DRAIN_TIMEOUT_MS: '500', STANDSTILL_MAX_MS: '15000' },
});

async function oldestAppend({
  url,
}: TestServer): Promise<{ readonly partition: string | undefined; readonly seconds: number }> {
  const samples = parseMetrics(await (await fetch(`${url}/metrics`)).text()).filter(
    ({ name }) => name === 'tablog_log_oldest_append_seconds',
  );
  const [oldest] = samples.toSorted((a, b) => b.value - a.value);
  return { partition: oldest?.labels['partition'], seconds: oldest?.value ?? 0 };
}

async function exitCodeOf({ process: child }: TestServer): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** From then on the sends of this process hang, and one does already. */
async function hang(server: TestServer, token: string): Promise<void> {
  const post = (): void =>
    void new Client(server.url, token).post('/tables', { name: 'hangs', rows: [] }).catch(() => undefined);
  server.process.kill('SIGUSR2');
  post();
  await sleepUntil(async () => {
    if ((await oldestAppend(server)).seconds > 0.1) return true;
    // The first one may be sent before the signal arrives.
    post();
    return false;
  }, 'a send hangs');
}

test('it is not ready, names the partition, and ends itself with exit code 1; SIGTERM ends it sooner; another process is answered', async () => {
  const [alone, told, well] = deployment()
    .of('api')
    .map(({ server }) => server) as [TestServer, TestServer, TestServer];
  const [first] = await deployment().clients();
  const { token } = first!;
  await Promise.all([alone, told].map((server) => hang(server, token)));
  const ended = exitCodeOf(alone);
  told.process.kill('SIGTERM');
  const { partition, seconds } = await oldestAppend(alone);
  let message = '';
  await sleepUntil(async () => {
    const response = await fetch(`${alone.url}/readyz`);
    if (response.status === 200) return false;
    ({
      error: { message },
    } = (await response.json()) as { error: { message: string } });
    return true;
  }, 'it is not ready');
  expect(message).toMatch(
    new RegExp(
      `^Partition ${partition} has stood still for \\d+ s: \\d+ appends? waits? for the brokers, the log ends at offset \\d+\\.$`,
    ),
  );
  expect((await oldestAppend(alone)).seconds).toBeGreaterThan(seconds);
  expect((await new Client(well.url, token).post('/tables', { name: 'goes on', rows: [] })).status).toBe(201);
  expect(await ended).toBe(1);
  expect(alone.output()).toContain('This process hangs. It ends now, so that it is restarted.');
  expect(await exitCodeOf(told)).toBe(1);
  expect(told.output()).toContain('gives up closing its sends to Kafka');
});
