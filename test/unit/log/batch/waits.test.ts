import { expect, test } from '@jest/globals';
import { Waits } from '../../../../src/log/batch/waits.ts';
import { sleepUntil } from '../../../support/server.ts';

/** Waits until this many milliseconds have passed for sure. */
async function pass(ms: number): Promise<void> {
  const until = performance.now() + ms;
  await sleepUntil(() => performance.now() > until, 'time has passed');
}

test('if nothing waits, the oldest wait is 0', () => {
  const waits = new Waits();
  waits.begin().end('done');
  expect([waits.count, waits.oldestMs, waits.undoneMs, waits.silentMs]).toEqual([0, 0, 0, 0]);
});

test('the oldest wait has its duration, and a wait that ends later than it began shows progress', async () => {
  const waits = new Waits();
  const [first, second, third] = [waits.begin(), waits.begin(), waits.begin()];
  await pass(30);
  second.end('failed');
  expect(waits.count).toBe(2);
  expect(waits.oldestMs).toBeGreaterThanOrEqual(30);
  expect(waits.undoneMs).toBeGreaterThanOrEqual(30);
  expect(waits.silentMs).toBeLessThan(waits.undoneMs);
  third.end('done');
  expect(waits.undoneMs).toBeLessThan(waits.oldestMs);
  first.end('done');
  first.end('done');
  expect([waits.count, waits.oldestMs]).toEqual([0, 0]);
});
