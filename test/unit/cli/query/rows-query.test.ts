/** The options of `tablog query`: what they ask for, and what stands above the columns. */
import { describe, expect, test } from '@jest/globals';
import { InvalidArgumentError } from 'commander';
import {
  bodyOf,
  groupColumns,
  parseAggregates,
  parseFilter,
  parseNames,
} from '../../../../src/cli/query/rows-query.ts';
import { aggregateFunctions, readRowsQuery } from '../../../../src/api/query/language/rows-query.ts';

test.each([
  ['a', ['a']],
  ['-amount,name', ['-amount', 'name']],
  ['["a,b","c"]', ['a,b', 'c']],
  ['[]', []],
  ['a b', ['a b']],
])('the list of names %s is parsed', (text, names) => {
  expect(parseNames(text)).toEqual(names);
});

test.each(['[', '[1]', '["a"'])('%s is not a list of names', (text) => {
  expect(() => parseNames(text)).toThrow(InvalidArgumentError);
});

test.each([
  ['count', [{ op: 'count' }]],
  ['sum:amount,count', [{ op: 'sum', column: 'amount' }, { op: 'count' }]],
  ['max:a:b', [{ op: 'max', column: 'a:b' }]],
  ['["sum:a,b"]', [{ op: 'sum', column: 'a,b' }]],
])('the list of aggregates %s is parsed', (text, aggregates) => {
  expect(parseAggregates(text)).toEqual(aggregates);
});

test('a filter is JSON', () => {
  expect(parseFilter('{"column":"a","op":"isEmpty"}')).toEqual({ column: 'a', op: 'isEmpty' });
  expect(() => parseFilter('a > 1')).toThrow(InvalidArgumentError);
});

describe('the body', () => {
  test('has the requested members, and no others', () => {
    const flags = { filter: { and: [] }, sort: ['-a'], fields: ['a'], count: true };
    expect(JSON.parse(JSON.stringify(bodyOf(flags)))).toEqual({
      filter: { and: [] },
      sort: ['-a'],
      fields: ['a'],
      count: 'exact',
    });
    expect(JSON.stringify(bodyOf({}))).toBe('{}');
  });

  test('columns of groups have the names that the service gives them', () => {
    const aggregate = aggregateFunctions.map((op) => ({ op, column: 'n' }));
    const flags = { groupBy: ['a', 'b'], aggregate: [{ op: 'count' }, ...aggregate] };
    const asked = readRowsQuery(JSON.parse(JSON.stringify(bodyOf(flags))));
    expect(groupColumns(flags)).toEqual([...asked.groupBy, ...asked.aggregate.map(({ as }) => as)]);
    expect(groupColumns({ fields: ['a'] })).toBeNull();
  });
});
