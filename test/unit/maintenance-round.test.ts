import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { removeGarbage } from '../../projections/engine/garbage.ts';
import type { Models } from '../../projections/engine/model.ts';
import type { Database } from '../../src/database/database.ts';
import { runRound, type Kind } from '../../src/maintenance/round.ts';

/** A kind that finds something so many times in all. */
function finding(times: number, repeats = true): Kind & { readonly steps: () => number } {
  let steps = 0;
  return {
    repeats, steps: () => steps,
    step: async () => {
      steps += 1;
      await turn();
      return steps <= times;
    },
  };
}

const failing: Kind = { repeats: true, step: () => Promise.reject(new Error('failed')) };
const run = (kinds: readonly Kind[], failures: unknown[] = [], signal = new AbortController().signal): Promise<boolean[]> =>
  runRound(kinds, { roundMs: 500, signal, onFailure: (error) => failures.push(error) });

test('a kind that always finds something does not keep the others from the next round', async () => {
  const [endless, scanning, brief] = [finding(Infinity), finding(Infinity, false), finding(2)];
  for (let rounds = 1; rounds <= 3; rounds += 1) {
    const before = endless.steps();
    const failures: unknown[] = [];
    expect(await run([failing, endless, scanning, brief], failures)).toEqual([false, true, true, false]);
    expect(failures).toHaveLength(1);
    expect(endless.steps()).toBeGreaterThan(before);
    expect([scanning.steps(), brief.steps()]).toEqual([rounds, rounds + 2]);
  }
});

test('a round ends when it is told to', async () => {
  const closing = new AbortController();
  const endless = finding(Infinity);
  const round = runRound([endless], { roundMs: 2 ** 30, signal: closing.signal, onFailure: () => undefined });
  closing.abort();
  expect(await round).toEqual([true]);
});

test('every step of garbage collection has its turn, whatever the ones before it find', async () => {
  const turns: string[] = [];
  const garbage = ['finds', 'fails', 'comes last'].map((name) => async () => {
    turns.push(name);
    await turn();
    if (name === 'fails') throw new Error('of a step');
    return name === 'finds' ? 1 : 0;
  });
  const models = { model: { garbage } } as unknown as Models;
  await expect(removeGarbage(models, {} as Database)).rejects.toThrow('of a step');
  expect(turns).toEqual(['finds', 'fails', 'comes last']);
});
