/**
 * The clock of the brokers is five minutes ahead, and right again after their next start. Meanwhile writes are refused,
 * because the times of the log decide which events are too late. Afterwards they go on at once, although the log has
 * records from the future.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { outcomeOf, type Client } from '../../support/client.ts';
import { startBrokerProcess, type BrokerProcess } from '../../support/kafka/broker-process.ts';
import { busiestPartition, withBrokers } from '../../support/kafka/partition-leaders.ts';
import { sleepUntil } from '../../support/server.ts';
import { limitMs } from '../../support/time-limits.ts';
import { survive } from '../survive.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

const topic = 'tablog.events';
const aheadMs = 300_000;

let broker: BrokerProcess;
let deployment: KafkaDeployment;

afterEach(async () => {
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
});

async function setClock(ms: number): Promise<void> {
  await broker.kill();
  broker.node.clockAheadMs = ms;
  await broker.start();
}

/** The answer to a write, and the problem with the clocks that the process then reports, if any. */
async function tryWrite(client: Client): Promise<{ readonly outcome: string; readonly clocks: string | undefined }> {
  const outcome = outcomeOf(await client.post('/tables', { name: 'while clocks differ', rows: [] }));
  const { data } = (await (await fetch(`${client.url}/readyz`)).json()) as { data: { problems?: readonly string[] } };
  return { outcome, clocks: data.problems?.find((problem) => problem.startsWith('The clock of the brokers')) };
}

/** How many records of a partition have a time that is more than half of `aheadMs` in the future. */
async function recordsFromTheFuture(partition: number): Promise<number> {
  const [of, since] = await withBrokers(broker.address, (admin) =>
    Promise.all([admin.fetchTopicOffsets(topic), admin.fetchTopicOffsetsByTimestamp(topic, Date.now() + aheadMs / 2)]),
  );
  const offsetIn = (offsets: readonly { readonly partition: number; readonly offset: string }[]): number => {
    return Number(offsets.find((one) => one.partition === partition)!.offset);
  };
  return offsetIn(of) - offsetIn(since);
}

test(
  'writes stop while the clock is wrong and go on when it is right, and nothing is lost',
  async () => {
    broker = await startBrokerProcess();
    deployment = await KafkaDeployment.start({ broker });
    const clients = await deployment.clients();
    await survive({ clients, verify: () => deployment.verify(), recoveryMs: 60_000 }, async () => {
      await sleep(1500);
      await setClock(aheadMs);
      for (const client of clients) {
        await sleepUntil(async () => {
          const { outcome, clocks } = await tryWrite(client);
          return (
            outcome === '503 service_unavailable' &&
            /^The clock of the brokers is (29|30)\d s ahead of the clock of this process/.test(clocks ?? '')
          );
        }, 'writes are refused because of the clock');
      }
      const partition = await busiestPartition(broker.address, topic);
      expect(await recordsFromTheFuture(partition)).toBeGreaterThan(0);
      await setClock(0);
      for (const client of clients) {
        await sleepUntil(async () => {
          const { outcome, clocks } = await tryWrite(client);
          return outcome === '201' && clocks === undefined;
        }, 'writes are taken again');
      }
      expect(await recordsFromTheFuture(partition)).toBeGreaterThan(0);
    });
  },
  limitMs(420_000),
);
