/**
 * Everything is killed at once, repeatedly, while stashes are uploaded and imported. Every acknowledged chunk and
 * import is there exactly once, and nobody ever reads a part of an import.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../../scale.ts';
import { limitMs } from '../../support/time-limits.ts';
import { findImportProblems } from '../imports.ts';
import { randomFrom } from '../load.ts';
import { seed } from '../survive.ts';
import { KafkaDeployment } from './kafka-deployment.ts';
import { killAllRepeatedly } from './kill-all.ts';

const kills = scale.importKills;

let deployment: KafkaDeployment;

afterEach(async () => {
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
});

test(
  `imports are whole or missing after ${kills} kills`,
  async () => {
    process.stderr.write(`KILLS=${kills}\n`);
    deployment = await KafkaDeployment.start();
    const clients = await deployment.clients();
    const problems = await findImportProblems(
      clients,
      (n) => randomFrom(seed + 1 + n),
      async () => {
        await killAllRepeatedly(deployment, kills, randomFrom(seed));
        await sleep(1000);
      },
    );
    expect(problems).toEqual([]);
    expect(await deployment.verify()).toMatchObject({ exitCode: 0 });
  },
  limitMs(300_000 + kills * 45_000),
);
