/** How much a filter may ask. */
import { expect, test } from '@jest/globals';
import { readCondition, type Condition } from '../../../../../src/api/query/language/condition.ts';

const isOf = (count: number): Condition => ({
  column: 'n',
  op: 'in',
  value: Array.from({ length: count }, (_, n) => n),
});
const nested = (depth: number): Condition => (depth === 1 ? isOf(1) : { not: nested(depth - 1) });
const all = (count: number, each: Condition): Condition => ({ and: Array.from({ length: count }, () => each) });

test.each<readonly [string, Condition, string | null]>([
  ['100 conditions', all(99, isOf(1)), null],
  ['101 conditions', all(100, isOf(1)), 'filter: must have at most 100 conditions'],
  ['10 levels', nested(10), null],
  ['11 levels', nested(11), 'filter: must be nested at most 10 deep'],
  ['2,000 values', isOf(2000), null],
  ['2,001 values', isOf(2001), 'filter: must name at most 2000 values by `in`'],
  ['2,000 values by several', all(2, isOf(1000)), null],
  ['2,001 values by several', { or: [all(2, isOf(1000)), isOf(1)] }, 'filter: must name at most 2000 values by `in`'],
])('a condition is bounded: %s', (_name, condition, problem) => {
  const read = (): Condition => readCondition(condition, 'filter');
  if (problem === null) expect(read()).toEqual(condition);
  else expect(read).toThrow(problem);
});
