/**
 * Brokers come back without the last records that they acknowledged. Their partitions halt until an operator decides
 * how to go on.
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Client } from '../../support/client.ts';
import { outcomeOf } from '../../support/client.ts';
import { canRunBroker } from '../../support/kafka/kafka-jars.ts';
import { parseMetrics, sumOf } from '../../support/metrics.ts';
import { sleepUntil } from '../../support/server.ts';
import { runTablog, type TablogResult } from '../../support/tablog.ts';
import { limitMs } from '../../support/time-limits.ts';
import { KafkaDeployment } from './kafka-deployment.ts';
import { tailLosses, type TailLoss } from './tail-losses.ts';

const hasJars = await canRunBroker();

let deployment: KafkaDeployment;

afterEach(async () => {
  await deployment.stop();
});

async function tablog(...args: readonly string[]): Promise<TablogResult> {
  return runTablog(args, deployment.environment);
}

async function problems(client: Client): Promise<string[]> {
  // A process that is starting does not listen yet.
  const response = await fetch(`${client.url}/readyz`).catch(() => null);
  const { data } = ((await response?.json()) as { data?: { problems?: string[] } }) ?? {};
  return data?.problems ?? [];
}

interface Lost {
  readonly client: Client;
  readonly row: string;
  readonly patch: (n: number, headers?: Readonly<Record<string, string>>) => ReturnType<Client['send']>;
  /** The versions that the row had in the lost records. */
  readonly versions: readonly bigint[];
}

/** Patches a row, and makes the brokers lose the patches. */
async function loseTail(loss: TailLoss): Promise<Lost> {
  const { broker, mark, lose } = await loss.start();
  deployment = await KafkaDeployment.start({ roles: ['api', 'projector'], broker });
  const [client] = await deployment.clients();
  const { json } = await client!.post('/tables', { name: 'lost', rows: [{ n: 0 }] });
  const row = `/tables/${json.data.tableID}/rows/${json.data.rowIDs[0]}`;
  const patch: Lost['patch'] = (n, headers = {}) => client!.send(row, { method: 'PATCH', body: { n }, headers });
  await mark();
  const versions: bigint[] = [];
  for (let n = 1; n < 20; n += 1) {
    // Writes may be refused for a moment after the mark.
    await sleepUntil(async () => {
      const answer = await patch(n);
      if (outcomeOf(answer) !== '200') return false;
      versions.push(answer.version!);
      return true;
    }, 'writes are taken');
  }
  await lose();
  await sleepUntil(
    async () => (await problems(client!)).some((problem) => problem.endsWith(' has halted.')),
    'it halts',
  );
  expect(outcomeOf(await patch(90))).toBe('503 service_unavailable');
  expect((await client!.get(row)).json.data).toMatchObject({ n: 19 });
  return { client: client!, row, patch, versions };
}

const possible = tailLosses.filter(({ needsJars }) => hasJars || !needsJars);
if (possible.length < tailLosses.length)
  process.stderr.write('Without Java and Maven, tails are lost in fewer ways here.\n');

for (const loss of possible) {
  describe(loss.name, () => {
    test(
      'the halt survives restarts, and ends when the log is restored and resumed',
      async () => {
        const { client, row, patch, versions } = await loseTail(loss);
        await deployment.kill(deployment.places);
        await deployment.restart(deployment.places);
        await sleepUntil(
          async () => (await problems(client)).some((problem) => problem.endsWith(' has halted.')),
          'it is halted',
        );
        expect(outcomeOf(await patch(91))).toBe('503 service_unavailable');
        const samples = parseMetrics(await (await fetch(`${client.url}/metrics`)).text());
        expect(sumOf(samples, 'tablog_partition_halted', { cause: 'records_lost' })).toBeGreaterThan(0);
        const status = await tablog('log', 'status');
        expect(status).toMatchObject({ code: 1, stderr: '' });
        expect(status.stdout).toMatch(
          /^Partition \d+ takes no writes: the log ends at \d+, the read model is at \d+: /m,
        );
        expect(await tablog('log', 'resume')).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/^partition \d+: the log ends at \d+, the read model is at \d+: /),
        });

        await deployment.broker.kill();
        await deployment.broker.restore('whole');
        await deployment.broker.start();
        // The service cannot know whether this is everything.
        await sleepUntil(
          async () => !(await problems(client)).includes('Kafka cannot be reached.'),
          'Kafka is reached',
        );
        expect(outcomeOf(await patch(92))).toBe('503 service_unavailable');
        expect(await tablog('log', 'resume')).toMatchObject({ code: 0 });
        await sleepUntil(async () => outcomeOf(await patch(93)) === '200', 'writes are taken again');
        const { version, json } = await client.get(row);
        expect(json.data).toMatchObject({ n: 93 });
        expect(version!).toBeGreaterThan(versions.at(-1)! + 2n ** 31n);
        expect(await tablog('log', 'status')).toMatchObject({ code: 0 });
        expect(await deployment.verify()).toMatchObject({ exitCode: 0 });
      },
      limitMs(480_000),
    );

    test(
      'a replay gives up records that are lost for good, and their versions are never issued again',
      async () => {
        const { client, row, patch, versions } = await loseTail(loss);
        await Promise.all(deployment.places.map(({ server }) => server.stop()));
        const { code, stdout } = await tablog('replay');
        expect(code).toBe(0);
        expect(stdout).toMatch(
          /^Partition \d+ of the log lacks events that had been projected: their changes are gone\./m,
        );
        await deployment.restart(deployment.places);
        await deployment.untilReady();
        expect((await client.get(row)).json.data).toMatchObject({ n: 0 });
        for (const version of versions) {
          expect(outcomeOf(await patch(94, { 'if-match': `"${version}"` }))).toBe('412 precondition_failed');
        }
        const seen = new Set(versions);
        for (let n = 100; n < 125; n += 1) {
          const { version } = await patch(n);
          expect(version!).toBeGreaterThan(versions.at(-1)!);
          expect(seen.has(version!)).toBe(false);
        }
        expect(await deployment.verify()).toMatchObject({ exitCode: 0 });
      },
      limitMs(480_000),
    );
  });
}
