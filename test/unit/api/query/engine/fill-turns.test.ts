import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { FillTurns } from '../../../../../src/api/query/engine/fill-turns.ts';

const never = new AbortController().signal;

/** Fills that end when they are told to. `order`: the teams, as their fills began. */
function fills(atOnce: number) {
  const turns = new FillTurns(atOnce);
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const fill = (teamId: string, gone = never): Promise<void> =>
    turns.run(teamId, gone, () => {
      order.push(teamId);
      return new Promise((resolve) => ends.push(resolve));
    });
  const end = async (nth: number): Promise<void> => {
    ends[nth]!();
    await setImmediate();
  };
  return { turns, order, fill, end };
}

test('a fixed number of fills run at once, and the next one is for the team with the fewest', async () => {
  const { turns, order, fill, end } = fills(2);
  const all = ['a', 'a', 'a', 'a', 'b', 'c'].map((teamId) => fill(teamId));
  await setImmediate();
  expect(order).toEqual(['a', 'a']);
  expect([turns.running, turns.waiting]).toEqual([2, 4]);
  for (const nth of [0, 1, 2, 3, 4, 5]) await end(nth);
  await Promise.all(all);
  expect(order).toEqual(['a', 'a', 'b', 'a', 'c', 'a']);
  expect([turns.running, turns.waiting]).toEqual([0, 0]);
});

test('a waiter that has gone is skipped, and a failure ends a turn', async () => {
  const { turns, order, fill, end } = fills(1);
  const first = fill('a');
  const gone = new AbortController();
  const second = fill('b', gone.signal);
  const failing = turns.run('d', never, () => Promise.reject(new Error('it failed')));
  const last = fill('c');
  gone.abort(new Error('nobody waits'));
  await expect(second).rejects.toThrow('nobody waits');
  await expect(fill('b', gone.signal)).rejects.toThrow('nobody waits');
  await end(0);
  await expect(failing).rejects.toThrow('it failed');
  await end(1);
  await Promise.all([first, last]);
  expect(order).toEqual(['a', 'c']);
  expect([turns.running, turns.waiting]).toEqual([0, 0]);
});
