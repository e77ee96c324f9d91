/** Whether the checker of histories notices a batch of which somebody saw a part. */
import { expect, test } from '@jest/globals';
import { findProblems, type Call, type History, type WriteOutcome } from '../../support/history.ts';

const applied: WriteOutcome = { status: 'applied', version: 3n };
const unknown: WriteOutcome = { status: 'unknown' };

/** Rows `a` and `b` are added at version 1 and 2; a batch then patches both and adds `c`. */
function historyOf(outcome: WriteOutcome, seen: History['final'], final: History['final']): History {
  const isKnown = outcome.status === 'applied';
  const operations: Call['operation'][] = [
    { kind: 'add', values: ['a1'], rows: ['a'], outcome: { status: 'applied', version: 1n } },
    { kind: 'add', values: ['b1'], rows: ['b'], outcome: { status: 'applied', version: 2n } },
    {
      kind: 'batch',
      parts: [
        { kind: 'patch', row: 'a', value: 'a2' },
        { kind: 'add', row: isKnown ? 'c' : null, value: 'c2' },
        { kind: 'patch', row: 'b', value: 'b2' },
      ],
      outcome,
    },
    { kind: 'look', rows: ['a', 'b'], seen },
  ];
  const calls = operations.map((operation, at): Call => {
    const returned = operation.kind === 'batch' && !isKnown ? Infinity : 2 * at + 1;
    return { client: 'client', invoked: 2 * at, returned, operation };
  });
  return { calls, final };
}

const rows = (...values: readonly string[]): History['final'] => values.map((value) => ({ row: value[0]!, value }));
const before = rows('a1', 'b1');
const after = rows('a2', 'b2', 'c2');

test.each<[string, WriteOutcome, History['final'], History['final']]>([
  ['all of a batch', applied, rows('a2', 'b2'), after],
  ['all of a batch without an answer', unknown, rows('a2', 'b2'), after],
  ['nothing of a batch without an answer', unknown, before, before],
  ['nothing of it at first, and all in the end', unknown, before, after],
])('a history that shows %s has no problem', (_what, outcome, seen, final) => {
  expect(findProblems(historyOf(outcome, seen, final))).toEqual([]);
});

test.each<[string, WriteOutcome, History['final'], History['final'], problem: RegExp]>([
  [
    'one of two patched rows',
    applied,
    rows('a2', 'b1'),
    after,
    /^client's look \(call 6\) shows a part of client's batch/,
  ],
  ['a patched row as missing', applied, rows('a2'), after, /shows a part of client's batch/],
  [
    'a patch without its addition in the end',
    unknown,
    before,
    rows('a2', 'b2'),
    /^the end shows a part of client's batch/,
  ],
  ['an addition without its patches in the end', applied, before, rows('a1', 'b1', 'c2'), /in the end row a is a1/],
])('a history that shows %s has a problem', (_what, outcome, seen, final, problem) => {
  expect(findProblems(historyOf(outcome, seen, final)).filter((each) => problem.test(each))).not.toEqual([]);
});
