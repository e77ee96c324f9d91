/**
 * Processes of a deployment are killed under load, repeatedly: an API, a projector, both projectors, Postgres, the
 * broker, or all of them at once; with VICTIM, always that one. Acknowledged writes are there once, unanswered ones
 * wholly or not at all, and refused ones not at all.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../../scale.ts';
import { sleepUntil } from '../../support/server.ts';
import { limitMs } from '../../support/time-limits.ts';
import { ManyTeams } from '../many-teams.ts';
import { survive } from '../survive.ts';
import { chooseVictims, pickVictim, type Victim } from '../victims.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

const kills = scale.killsOnKafka;

let deployment: KafkaDeployment;

afterEach(async () => {
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
});

type Random = () => number;

function oneOf<T>(things: readonly T[], random: Random): T {
  return things[Math.floor(random() * things.length)]!;
}

interface KilledVictim extends Victim {
  /** Kills it and starts it again. Does not wait until it is ready. */
  readonly kill: (random: Random) => Promise<void>;
}

const victims = chooseVictims<KilledVictim>([
  {
    name: 'api',
    weight: 4,
    kill: async (random) => {
      const api = oneOf(deployment.of('api'), random);
      await deployment.kill([api]);
      await deployment.restart([api]);
    },
  },
  {
    name: 'projector',
    weight: 5,
    kill: async (random) => {
      const projector = oneOf(deployment.of('projector'), random);
      await deployment.kill([projector]);
      await deployment.restart([projector]);
    },
  },
  {
    name: 'projectors',
    weight: 2,
    kill: async () => {
      const projectors = deployment.of('projector');
      await deployment.kill(projectors);
      await deployment.restart(projectors);
    },
  },
  {
    name: 'postgres',
    weight: 3,
    kill: async () => {
      await deployment.killPostgres();
      await deployment.restartPostgres();
    },
  },
  {
    name: 'broker',
    weight: 3,
    kill: async () => {
      await deployment.broker.kill();
      await deployment.broker.start();
    },
  },
  {
    name: 'everything',
    weight: 2,
    kill: async () => {
      await Promise.all([deployment.kill(deployment.places), deployment.killPostgres(), deployment.broker.kill()]);
      await Promise.all([deployment.restartPostgres(), deployment.broker.start()]);
      await deployment.restart(deployment.places);
    },
  },
]);

test(
  `no acknowledged write is lost in ${kills} kills`,
  async () => {
    process.stderr.write(`KILLS=${kills} of ${victims.map(({ name }) => name).join(', ')}\n`);
    deployment = await KafkaDeployment.start();
    const clients = await deployment.clients();
    const teams = await ManyTeams.start(
      clients.map(({ url }) => url),
      deployment.environment,
    );
    await survive({ clients, verify: () => deployment.verify(), recoveryMs: 60_000 }, async (random, acknowledged) => {
      for (let count = 0; count < kills; count += 1) {
        // Most kills come when everything has recovered, some earlier.
        if (random() < 0.8) await deployment.untilReady();
        await sleep(random() * 1500);
        const { name, kill } = pickVictim(victims, random);
        process.stderr.write(`${count + 1}. ${name}\n`);
        await kill(random);
      }
      await deployment.untilReady();
      await sleepUntil(
        () => acknowledged() >= kills * scale.writesPerKill,
        `${scale.writesPerKill} writes per kill are acknowledged`,
        300_000,
      );
      expect(await teams.findProblems()).toEqual([]);
    });
  },
  limitMs(300_000 + kills * 30_000),
);
