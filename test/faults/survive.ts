/** Clients work on a table while something is done to the service, and all that they were told is checked. */
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

/** The seed of this run: SEED, or another one each time. It is printed, so that a failure can be had again. */
export const seed = chooseSeed();

const clientsAtOnce = 12;

type Recorded = Awaited<ReturnType<typeof createRecordedTable>>;

interface Working {
  /** What the clients are called. Those that work on one table, or for one team, after others need other names. */
  readonly name?: string;
  /** How long each client waits before each step, in milliseconds. */
  readonly pauseMs?: number;
}

/** Has clients write to a table for as long as `goesOn` gives true. */
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
        // While nothing is taken, clients would only heat the machine, and record more rows than memory holds.
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
  /** How long the service may take until it takes writes again, in milliseconds. */
  readonly recoveryMs?: number;
}

/** Does something to the service. `acknowledged` gives how many writes were acknowledged so far. */
type Disturb = (random: () => number, acknowledged: () => number) => Promise<void>;

/** What is wrong with what clients were told while something was done to the service; none when all of it was true. */
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
    // Each process takes writes again, by itself.
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

/** What cannot be read in the end is a problem too: the service may have noticed a bug, and have held the team. */
async function orUnreadable(find: () => Promise<string[]>): Promise<string[]> {
  try {
    return await find();
  } catch (error) {
    return [`nothing can be read: ${String(error)}`];
  }
}

/**
 * Expects that nothing was lost or made up while something was done to the service, and that its read model is right.
 */
export async function survive(disturbed: Disturbed, disturb: Disturb): Promise<void> {
  expect(await findProblemsWhile(disturbed, disturb)).toEqual([]);
  expect(await disturbed.verify()).toMatchObject({ exitCode: 0 });
}
