/**
 * Many clients over two APIs and two projectors. Whatever happens to a projector, the result is as if each write had
 * taken place alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { survive } from '../survive.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

let deployment: KafkaDeployment;

afterEach(async () => {
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
});

/** Longer than the consumer group waits for a silent process, in milliseconds. */
const beyondSession = 14_000;

test('histories are linearizable when a projector is killed, and another is paused until it loses its partitions, and wakes', async () => {
  deployment = await KafkaDeployment.start({ roles: ['api', 'api', 'projector', 'projector', 'projector'] });
  const clients = await deployment.clients();
  await survive({ clients, verify: () => deployment.verify() }, async () => {
    const [first, second, third] = deployment.of('projector');
    await sleep(1500);
    await deployment.kill([first!]);
    await sleep(beyondSession);
    await deployment.restart([first!]);
    await sleep(3000);
    for (const paused of [second!, third!]) {
      paused.server.process.kill('SIGSTOP');
      await sleep(beyondSession);
      paused.server.process.kill('SIGCONT');
      await sleep(2000);
    }
  });
});

test('histories are linearizable when two projectors repeatedly take all partitions from each other', async () => {
  deployment = await KafkaDeployment.start({ roles: ['api', 'projector', 'projector'], groupsApart: true });
  const clients = await deployment.clients();
  await survive({ clients, verify: () => deployment.verify(), recoveryMs: 40_000 }, () => sleep(20_000));
  const takeovers = deployment.output().match(/another process has taken a partition over/g) ?? [];
  expect(takeovers.length).toBeGreaterThan(12);
});
