/** Clients work on a table while the service is disturbed, and all their answers are checked. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { Client } from '../support/client.ts';
import { findProblems } from '../support/history.ts';
import { chooseSeed } from '../support/random.ts';
import { sleepUntil } from '../support/server.ts';
import { randomFrom, work, type Mix } from './load.ts';
import { createRecordedTable, findCreationProblems, historyOf, RecordedTable } from './recorded-table.ts';
import type { verify } from './verify.ts';

const mix: Mix = {
  patch: 12,
  batch: 4,
  look: 4,
  add: 4,
  delete: 3,
  head: 1,
  addBlock: 0.6,
  addBody: 0.4,
  addRefused: 0.3,
  create: 0.3,
};

/** The seed of this run: SEED, or a new one each time. It is printed, so that a failure can be reproduced. */
export const seed = chooseSeed();

const clientsAtOnce = 12;

type Recorded = Awaited<ReturnType<typeof createRecordedTable>>;

interface Working {
  /** The name of the clients. If they work on the same table or team after other clients, they need another name. */
  readonly name?: string;
  /** How long each client waits before each step, in milliseconds. */
  readonly pauseMs?: number;
}

/** Lets clients write to a table as long as `goesOn` returns true. */
export function clientsAtWork(
  clients: readonly Client[],
  { tableId, rows, recorder }: Recorded,
  goesOn: () => boolean,
  { name = 'client', pauseMs = 5 }: Working = {},
): Promise<unknown> {
  return Promise.all(
    Array.from({ length: clientsAtOnce }, (_, n) => {
      const table = new RecordedTable(`${name} ${n}`, clients[n % clients.length]!, tableId, recorder);
      let acknowledged = -1;
      return work(table, rows, mix, randomFrom(seed + n), async () => {
        // If no write is accepted, fast clients would only heat the machine, and record more rows than fit into memory.
        await sleep(recorder.acknowledged > acknowledged ? pauseMs : 100);
        acknowledged = recorder.acknowledged;
        return goesOn();
      });
    }),
  );
}

export interface Disturbed extends Working {
  readonly clients: readonly Client[];
  readonly verify: () => ReturnType<typeof verify>;
  /** How long the service may take until it accepts writes again, in milliseconds. */
  readonly recoveryMs?: number;
}

/** Disturbs the service. `acknowledged` returns the number of writes acknowledged so far. */
type Disturb = (random: () => number, acknowledged: () => number) => Promise<void>;

/** The problems in the clients' answers while the service was disturbed; empty if all answers were true. */
export async function findProblemsWhile(
  { clients, recoveryMs = 20_000, ...options }: Omit<Disturbed, 'verify'>,
  disturb: Disturb,
): Promise<string[]> {
  const created = await createRecordedTable(clients[0]!, 8);
  const { tableId, rows, recorder } = created;
  let goesOn = true;
  const working = clientsAtWork(clients, created, () => goesOn, options);
  const deaf: string[] = [];
  try {
    await disturb(randomFrom(seed), () => recorder.acknowledged);
    // Each process accepts writes again, by itself.
    for (const client of clients) {
      const after = new RecordedTable(`after ${client.url}`, client, tableId, recorder);
      const takesWrites = sleepUntil(
        async () => (await after.add(1)).length === 1,
        'writes are taken again',
        recoveryMs,
      );
      await takesWrites.catch((error: unknown) => deaf.push(`${client.url}: ${String(error)}`));
    }
  } finally {
    goesOn = false;
    await working;
  }
  process.stderr.write(`${recorder.acknowledged} writes were acknowledged\n`);
  return [
    ...deaf,
    ...recorder.unexpected,
    ...(await orUnreadable(async () => findProblems(await historyOf(recorder, clients.at(-1)!, tableId, rows)))),
    ...(await orUnreadable(() => findCreationProblems(recorder, clients[0]!))),
  ];
}

/**
 * If something cannot be read in the end, that is a problem too: the service may have noticed a bug, and hold the team.
 */
async function orUnreadable(find: () => Promise<string[]>): Promise<string[]> {
  try {
    return await find();
  } catch (error) {
    return [`nothing can be read: ${String(error)}`];
  }
}

/** Expects that nothing was lost or invented while the service was disturbed, and that its read model is right. */
export async function survive(disturbed: Disturbed, disturb: Disturb): Promise<void> {
  expect(await findProblemsWhile(disturbed, disturb)).toEqual([]);
  expect(await disturbed.verify()).toMatchObject({ exitCode: 0 });
}
