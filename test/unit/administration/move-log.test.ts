/** When a move of the log stops copying beside the writes, and closes the log for the rest. */
import { expect, test } from '@jest/globals';
import { afterRound } from '../../../src/administration/move-log.ts';

test.each([
  [1, 1000, 'close'],
  [1, 1001, 'again'],
  [1, 3_600_000, 'again'],
  [19, 1001, 'again'],
  [19, 20_000, 'again'],
  [20, 1000, 'close'],
  [20, 1001, 'close'],
  [20, 10_000, 'close'],
  [20, 10_001, 'give up'],
] as const)('after round %i of %i ms: %s', (round, took, next) => {
  expect(afterRound(round, took)).toBe(next);
});
