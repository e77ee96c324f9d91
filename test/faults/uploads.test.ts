/**
 * The service and its embedded Postgres are killed together while files are uploaded, completed and given up. Every
 * acknowledged file has exactly its bytes, and nothing is left of the others.
 */
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { Client } from '../support/client.ts';
import { limitMs } from '../support/time-limits.ts';
import { KilledService } from './killed-service.ts';
import { randomFrom } from './load.ts';
import { seed } from './survive.ts';
import { findUploadProblems } from './uploads.ts';
import { verify } from './verify.ts';

const kills = scale.uploadKills;

let service: KilledService | undefined;

afterEach(async () => {
  await service?.remove();
});

test(
  `files are whole or missing after ${kills} kills`,
  async () => {
    process.stderr.write(`KILLS=${kills}\n`);
    const killed = (service = await KilledService.start({ MAINTENANCE_INTERVAL_MS: '100' }));
    const environment = { DATA_DIR: killed.folder };
    const client = new Client(killed.url, await killed.token());
    const problems = await findUploadProblems(
      [client],
      environment,
      (n) => randomFrom(seed + 1 + n),
      () => {
        return killed.killRepeatedly(kills, randomFrom(seed));
      },
    );
    expect(problems).toEqual([]);
    expect(await killed.stop()).toBe(0);
    expect(await verify(environment)).toMatchObject({ exitCode: 0 });
  },
  limitMs(600_000),
);
