/** Work that many callers share. */
import { expect, test } from '@jest/globals';
import { SharedRuns } from '../../../src/log/shared-runs.ts';

/** Runs that end when the test says so. */
function controlled(): { readonly runs: SharedRuns<number>; readonly ends: ((error?: Error) => void)[] } {
  const ends: ((error?: Error) => void)[] = [];
  const runs = new SharedRuns(
    () =>
      new Promise<number>((resolve, reject) => {
        const number = ends.length + 1;
        ends.push((error) => (error === undefined ? resolve(number) : reject(error)));
      }),
  );
  return { runs, ends };
}

test('callers during a run share the next one, which begins when that run has ended', async () => {
  const { runs, ends } = controlled();
  const first = runs.run();
  const [second, third] = [runs.run(), runs.run()];
  expect(ends).toHaveLength(1);
  ends[0]!();
  expect(await first).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(ends).toHaveLength(2);
  ends[1]!();
  expect(await Promise.all([second, third])).toEqual([2, 2]);
});

test('a run that fails rejects for its callers only', async () => {
  const { runs, ends } = controlled();
  const first = runs.run();
  const second = runs.run();
  ends[0]!(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await new Promise((resolve) => setImmediate(resolve));
  ends[1]!();
  expect(await second).toBe(2);
});

test('a call after all runs have ended begins a run at once', async () => {
  const { runs, ends } = controlled();
  for (const number of [1, 2, 3]) {
    const run = runs.run();
    expect(ends).toHaveLength(number);
    ends[number - 1]!();
    expect(await run).toBe(number);
  }
});
