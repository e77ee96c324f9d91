import { describe, expect, test } from '@jest/globals';
import { findProblems, type Call, type History, type Operation, type WriteOutcome } from '../support/history.ts';

const applied = (version: bigint): WriteOutcome => ({ status: 'applied', version });
const overtaken: WriteOutcome = { status: 'refused', changed: true };
const refused: WriteOutcome = { status: 'refused', changed: false };
const unknown: WriteOutcome = { status: 'unknown' };

function read(row: string, version: bigint, value: string): Operation {
  return { kind: 'read', row, seen: { version, value } };
}

function readNothing(row: string): Operation {
  return { kind: 'read', row, seen: null };
}

function head(version: bigint): Operation {
  return { kind: 'head', version };
}

function add(values: string, outcome: WriteOutcome): Operation {
  const list = values.split(' ');
  return { kind: 'add', values: list, rows: outcome.status === 'applied' ? list.map((value) => `row-${value}`) : [], outcome };
}

function patch(row: string, value: string, ifMatch: bigint | null, outcome: WriteOutcome): Operation {
  return { kind: 'patch', row, value, ifMatch, outcome };
}

function remove(row: string, outcome: WriteOutcome): Operation {
  return { kind: 'delete', row, ifMatch: null, outcome };
}

type Spans = readonly (readonly [invoked: number, returned: number, operation: Operation])[];

/** A history from calls with their places, and the rows left as `row=value`. */
function history(spans: Spans, final: string): History {
  const calls = spans.map(([invoked, returned, operation], at): Call => ({ client: `c${at}`, invoked, returned, operation }));
  const rows = final === '' ? [] : final.split(' ').map((text) => text.split('=') as [string, string]);
  return { calls, final: rows.map(([row, value]) => ({ row, value })) };
}

/** Every history begins with two rows. */
const start = [1, 2, add('a b', applied(1n))] as const;

describe('histories that a table may have', () => {
  test.each<[string, Spans, string]>([
    ['nothing but rows', [start], 'row-a=a row-b=b'],
    ['one patch of two with the same If-Match', [
      start,
      [3, 6, patch('row-a', 'x', 1n, applied(2n))],
      [4, 5, patch('row-a', 'y', 1n, overtaken)],
      [7, 8, read('row-a', 2n, 'x')],
    ], 'row-a=x row-b=b'],
    ['a read beside a patch sees either', [
      start,
      [3, 10, patch('row-a', 'x', 1n, applied(4n))],
      [4, 5, read('row-a', 1n, 'a')],
      [6, 7, read('row-a', 4n, 'x')],
      [8, 9, head(4n)],
    ], 'row-a=x row-b=b'],
    ['a patch with the version of the table', [
      start,
      [3, 4, patch('row-a', 'x', 1n, applied(2n))],
      [5, 6, patch('row-b', 'y', 2n, applied(3n))],
    ], 'row-a=x row-b=y'],
    ['a deleted row', [
      start, [3, 4, remove('row-a', applied(2n))], [5, 6, readNothing('row-a')], [7, 8, patch('row-a', 'x', 1n, refused)],
    ], 'row-b=b'],
    ['writes without an answer that took place', [
      start,
      [3, Infinity, patch('row-a', 'x', 1n, unknown)],
      [4, Infinity, add('c d', unknown)],
      [5, 6, read('row-a', 2n, 'x')],
      [7, Infinity, remove('row-b', unknown)],
    ], 'row-a=x row-c=c row-d=d'],
    ['writes without an answer that did not', [
      start,
      [3, Infinity, patch('row-a', 'x', 1n, unknown)],
      [4, Infinity, add('c d', unknown)],
      [5, Infinity, remove('row-b', unknown)],
    ], 'row-a=a row-b=b'],
  ])('%s', (_name, spans, final) => {
    expect(findProblems(history(spans, final))).toEqual([]);
  });
});

describe('histories that no table may have', () => {
  test.each<[string, Spans, string, RegExp]>([
    ['a lost update: two patches win with one If-Match', [
      start,
      [3, 6, patch('row-a', 'x', 1n, applied(2n))],
      [4, 5, patch('row-a', 'y', 1n, applied(3n))],
    ], 'row-a=y row-b=b', /lost the update with version 2/],
    ['a lost update of which only a read tells', [
      start,
      [3, Infinity, patch('row-a', 'x', 1n, unknown)],
      [4, 5, read('row-a', 2n, 'x')],
      [6, 7, patch('row-a', 'y', 1n, applied(3n))],
    ], 'row-a=y row-b=b', /lost the update with version 2/],
    ['an answered patch that is gone in the end', [
      start, [3, 4, patch('row-a', 'x', null, applied(2n))],
    ], 'row-a=a row-b=b', /the end row row-a is a/],
    ['a version that its If-Match has already seen', [
      start, [3, 5, patch('row-a', 'x', 9n, applied(2n))],
    ], 'row-a=x row-b=b', /not above its If-Match/],
    ['a stale read', [
      start, [3, 4, patch('row-a', 'x', 1n, applied(2n))], [5, 6, read('row-a', 1n, 'a')],
    ], 'row-a=x row-b=b', /old version of row row-a/],
    ['a read that falls behind another', [
      start,
      [3, 10, patch('row-a', 'x', 1n, applied(2n))],
      [4, 5, read('row-a', 2n, 'x')],
      [6, 7, read('row-a', 1n, 'a')],
    ], 'row-a=x row-b=b', /old version of row row-a/],
    ['a stale version of the table', [
      start, [3, 4, patch('row-a', 'x', 1n, applied(2n))], [5, 6, head(1n)],
    ], 'row-a=x row-b=b', /old version of the table/],
    ['a version of the table below that of a row', [
      start,
      [3, 10, patch('row-a', 'x', 1n, applied(2n))],
      [4, 5, read('row-a', 2n, 'x')],
      [6, 7, head(1n)],
    ], 'row-a=x row-b=b', /old version of the table/],
    ['a version of the table that no write has', [start, [3, 4, head(7n)]], 'row-a=a row-b=b', /version that no write has/],
    ['a duplicate version', [
      start,
      [3, 6, patch('row-a', 'x', 1n, applied(2n))],
      [4, 5, patch('row-b', 'y', 1n, applied(2n))],
    ], 'row-a=x row-b=y', /both have version 2/],
    ['a version that falls', [
      start, [3, 4, patch('row-a', 'x', 1n, applied(5n))], [5, 6, patch('row-b', 'y', 1n, applied(4n))],
    ], 'row-a=x row-b=y', /old version of the table/],
    ['a value from nowhere', [start, [3, 4, read('row-a', 1n, 'z')]], 'row-a=a row-b=b', /z, which nobody had written/],
    ['a value of another row', [start, [3, 4, read('row-a', 1n, 'b')]], 'row-a=a row-b=b', /b, which nobody had written/],
    ['a value before it was written', [
      start, [3, 4, read('row-a', 2n, 'x')], [5, 6, patch('row-a', 'x', 1n, applied(2n))],
    ], 'row-a=x row-b=b', /x, which nobody had written/],
    ['a value of a refused patch', [
      start, [3, 4, patch('row-a', 'x', null, refused)], [5, 6, read('row-a', 2n, 'x')],
    ], 'row-a=a row-b=b', /x, which nobody had written/],
    ['a value with another version', [start, [3, 4, read('row-a', 2n, 'a')]], 'row-a=a row-b=b', /version 2 of what/],
    ['a refusal for nothing', [
      start, [3, 4, patch('row-a', 'x', 1n, overtaken)],
    ], 'row-a=a row-b=b', /nothing had changed/],
    ['a row that vanished', [start, [3, 4, readNothing('row-a')]], 'row-b=b', /nobody had deleted/],
    ['a row that comes back', [
      start, [3, 4, remove('row-a', applied(2n))], [5, 6, read('row-a', 1n, 'a')],
    ], 'row-b=b', /old version of row row-a/],
    ['a patch of a row that is gone', [
      start, [3, 6, remove('row-a', applied(2n))], [4, 5, patch('row-a', 'x', null, applied(3n))],
    ], 'row-b=b', /a row that was gone/],
    ['a deleted row in the end', [start, [3, 4, remove('row-a', applied(2n))]], 'row-a=a row-b=b', /row-a is a/],
    ['an added row that is missing', [start], 'row-a=a', /row-b is gone/],
    ['a row twice', [start], 'row-a=a row-b=b row-b=b', /a row is there twice/],
    ['an add that took place twice', [
      start, [3, Infinity, add('c', unknown)],
    ], 'row-a=a row-b=b row-c=c row-d=c', /a value is there twice/],
    ['a part of an add', [start, [3, Infinity, add('c d', unknown)]], 'row-a=a row-b=b row-c=c', /a part of/],
    ['an add out of order', [start, [3, Infinity, add('c d', unknown)]], 'row-a=a row-b=b row-d=d row-c=c', /not in its order/],
    ['rows of a refused add', [start, [3, 4, add('c', refused)]], 'row-a=a row-b=b row-c=c', /c, which nobody wrote/],
  ])('%s', (_name, spans, final, problem) => {
    expect(findProblems(history(spans, final)).join('\n')).toMatch(problem);
  });

  test('a value that two calls write makes no history', () => {
    expect(() => findProblems(history([start, [3, 4, add('a', unknown)]], ''))).toThrow('two calls write a');
  });
});
