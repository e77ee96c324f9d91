/**
 * Processes of a deployment are killed under load, again and again: an API, a projector, Postgres, the broker, and all of
 * it at once. What was answered is there, once; what was not is there wholly or not at all; what was refused never happened.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../../scale.ts';
import { survive } from '../survive.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

const kills = scale.killsOnKafka;

let deployment: KafkaDeployment;

afterEach(async () => {
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
}, 60_000);

type Random = () => number;

function oneOf<T>(things: readonly T[], random: Random): T {
  return things[Math.floor(random() * things.length)]!;
}

/** What is killed, in relation to the others how often, and how. Each is started again, and not waited for. */
const victims: readonly (readonly [name: string, weight: number, kill: (random: Random) => Promise<void>])[] = [
  ['an API', 4, async (random) => {
    const api = oneOf(deployment.of('api'), random);
    await deployment.kill([api]);
    await deployment.restart([api]);
  }],
  ['a projector', 5, async (random) => {
    const projector = oneOf(deployment.of('projector'), random);
    await deployment.kill([projector]);
    await deployment.restart([projector]);
  }],
  ['both projectors', 2, async () => {
    const projectors = deployment.of('projector');
    await deployment.kill(projectors);
    await deployment.restart(projectors);
  }],
  ['Postgres', 3, async () => {
    await deployment.killPostgres();
    await deployment.restartPostgres();
  }],
  ['the broker', 3, async () => {
    await deployment.broker.kill();
    await deployment.broker.start();
  }],
  ['everything', 2, async () => {
    await Promise.all([deployment.kill(deployment.places), deployment.killPostgres(), deployment.broker.kill()]);
    await Promise.all([deployment.restartPostgres(), deployment.broker.start()]);
    await deployment.restart(deployment.places);
  }],
];

test(`nothing is lost in ${kills} kills`, async () => {
  process.stderr.write(`KILLS=${kills}\n`);
  deployment = await KafkaDeployment.start();
  const clients = await deployment.clients();
  const order = victims.flatMap(([name, weight, kill]) => Array.from({ length: weight }, () => ({ name, kill })));
  await survive({ clients, verify: () => deployment.verify(), recoveryMs: 60_000 }, async (random) => {
    for (let count = 0; count < kills; count += 1) {
      // Mostly they are killed when all goes on again, now and then before.
      if (random() < 0.8) await deployment.untilReady();
      await sleep(random() * 1500);
      const { name, kill } = oneOf(order, random);
      process.stderr.write(`${count + 1}. ${name}\n`);
      await kill(random);
    }
    await deployment.untilReady();
  });
}, 300_000 + kills * 30_000);
