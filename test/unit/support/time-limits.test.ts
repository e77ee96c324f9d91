import { expect, test } from '@jest/globals';
import { limitMs, slownessOf } from '../../support/time-limits.ts';

test.each([
  ['faster', 4000, 1],
  ['as fast', 1000, 1],
  ['half as fast', 500, 2],
  ['slower by three', 330, 3],
  ['slower by ten', 100, 6],
  ['at a standstill', 0, 6],
])('a machine that is %s multiplies its limits by its slowness, from 1 to 6', (_what, units, slowness) => {
  expect(slownessOf(units)).toBe(slowness);
});

test('the limits of this run follow the slowness that was measured before it', () => {
  const slowness = Number(process.env['TABLOG_TEST_SLOWNESS']);
  expect(slowness).toBeGreaterThanOrEqual(1);
  expect(slowness).toBeLessThanOrEqual(6);
  expect(limitMs(1000)).toBe(slowness * 1000);
});
