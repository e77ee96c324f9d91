/**
 * The service and its embedded Postgres are killed together while stashes are uploaded and imported. Every acknowledged
 * chunk and import is there exactly once, and nobody ever reads a part of an import.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { Client } from '../support/client.ts';
import { limitMs } from '../support/time-limits.ts';
import { findImportProblems } from './imports.ts';
import { KilledService } from './killed-service.ts';
import { randomFrom } from './load.ts';
import { seed } from './survive.ts';
import { verify } from './verify.ts';

const kills = scale.importKills;

let service: KilledService | undefined;

afterEach(async () => {
  await service?.remove();
});

test(
  `imports are whole or missing after ${kills} kills`,
  async () => {
    process.stderr.write(`KILLS=${kills}\n`);
    const killed = (service = await KilledService.start());
    const client = new Client(killed.url, await killed.token());
    const problems = await findImportProblems(
      [client],
      (n) => randomFrom(seed + 1 + n),
      async () => {
        await killed.killRepeatedly(kills, randomFrom(seed));
        await sleep(500);
      },
    );
    expect(problems).toEqual([]);
    expect(await killed.stop()).toBe(0);
    expect(await verify({ DATA_DIR: killed.folder })).toMatchObject({ exitCode: 0 });
  },
  limitMs(600_000),
);
