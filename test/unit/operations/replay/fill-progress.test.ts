/** How long a fill is said to take. */
import { expect, test } from '@jest/globals';
import { FillProgress } from '../../../../src/operations/replay/fill-progress.ts';

test.each<[string, readonly (readonly [at: number, events: number])[], number, number | null]>([
  ['nothing is known', [[0, 100]], 900, null],
  [
    'another process has not begun, for long',
    [
      [0, 100],
      [60_000, 100],
    ],
    900,
    null,
  ],
  [
    'it has just begun',
    [
      [0, 100],
      [500, 200],
    ],
    800,
    null,
  ],
  [
    'a tenth is done in two seconds',
    [
      [0, 0],
      [2000, 100],
    ],
    900,
    18,
  ],
  [
    'half of what was left is done, after a wait',
    [
      [0, 100],
      [60_000, 100],
      [64_500, 550],
    ],
    450,
    5,
  ],
  [
    'it has begun anew',
    [
      [0, 500],
      [10_000, 600],
      [20_000, 100],
      [22_000, 200],
    ],
    800,
    16,
  ],
  [
    'all is done',
    [
      [0, 0],
      [3000, 1000],
    ],
    0,
    0,
  ],
  [
    'the log has fewer than it had',
    [
      [0, 0],
      [3000, 1001],
    ],
    0,
    0,
  ],
])('the time that is left is estimated: %s', (_what, seen, eventsLeft, secondsLeft) => {
  let now = 0;
  const progress = new FillProgress(() => now);
  expect(progress).toMatchObject({ eventsLeft: 0, secondsLeft: 0 });
  for (const [at, events] of seen) {
    now = at;
    progress.update(events, 1000);
  }
  expect(progress).toMatchObject({ eventsLeft, secondsLeft });
  expect(progress.describe()).toContain(
    `${seen.at(-1)![1]} of 1000 events${secondsLeft === null ? '.' : `, about ${secondsLeft} s left`}`,
  );
  progress.end();
  expect(progress).toMatchObject({ eventsLeft: 0, secondsLeft: 0 });
});

test('the progress of another process is read at each look, until it has ended', async () => {
  const states = [{ events: 10, ofEvents: 100 }, { events: 40, ofEvents: 110 }, null];
  const progress = new FillProgress();
  await progress.look();
  expect(progress.eventsLeft).toBe(0);
  progress.follow(async () => states.shift()!);
  const left: number[] = [];
  while (states.length > 0) {
    await progress.look();
    left.push(progress.eventsLeft);
  }
  expect(left).toEqual([90, 70, 0]);
  progress.follow(() => Promise.reject(new Error('away')));
  await expect(progress.look()).rejects.toThrow('away');
});
