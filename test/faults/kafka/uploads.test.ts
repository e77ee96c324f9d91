/**
 * Everything is killed at once, repeatedly, while files are uploaded, completed and given up. Every acknowledged file
 * has exactly its bytes, and nothing is left of the others.
 */
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../../scale.ts';
import { limitMs } from '../../support/time-limits.ts';
import { randomFrom } from '../load.ts';
import { seed } from '../survive.ts';
import { findUploadProblems } from '../uploads.ts';
import { KafkaDeployment } from './kafka-deployment.ts';
import { killAllRepeatedly } from './kill-all.ts';

const kills = scale.uploadKillsOnKafka;

let deployment: KafkaDeployment;

afterEach(async () => {
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
});

test(
  `files are whole or missing after ${kills} kills`,
  async () => {
    process.stderr.write(`KILLS=${kills}\n`);
    deployment = await KafkaDeployment.start({ environment: { MAINTENANCE_INTERVAL_MS: '100' } });
    const clients = await deployment.clients();
    const environment = { ...deployment.environment, DATA_DIR: deployment.places[0]!.server.folder };
    const problems = await findUploadProblems(
      clients,
      environment,
      (n) => randomFrom(seed + 1 + n),
      () => {
        return killAllRepeatedly(deployment, kills, randomFrom(seed));
      },
    );
    expect(problems).toEqual([]);
    expect(await deployment.verify()).toMatchObject({ exitCode: 0 });
  },
  limitMs(300_000 + kills * 45_000),
);
