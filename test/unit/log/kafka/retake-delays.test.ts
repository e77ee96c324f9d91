import { expect, test } from '@jest/globals';
import { RetakeDelays } from '../../../../src/log/kafka/retake-delays.ts';

test.each<[string, kept: readonly number[], delays: readonly number[]]>([
  ['a partition that was kept for long', [60_000, 6000], [0, 0]],
  [
    'one that is lost soon, again and again',
    [100, 0, 200, 0, 5000, 0, 0, 0],
    [50, 100, 200, 500, 1000, 2000, 5000, 5000],
  ],
  ['one that is lost soon after it was kept for long', [6000, 10, 6000, 10], [0, 50, 0, 50]],
])('the delays follow how long a partition was kept: %s', (_name, kept, delays) => {
  const retakeDelays = new RetakeDelays();
  expect(kept.map((ms) => retakeDelays.next(0, ms))).toEqual(delays);
});

test('partitions have delays of their own', () => {
  const retakeDelays = new RetakeDelays();
  for (let times = 0; times < 3; times += 1) retakeDelays.next(0, 0);
  expect(retakeDelays.next(1, 0)).toBe(50);
});
