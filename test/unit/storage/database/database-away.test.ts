import { expect, test } from '@jest/globals';
import { isDatabaseAway } from '../../../../src/storage/database/database-away.ts';

function failure(message: string, properties: object = {}): Error {
  return Object.assign(new Error(message), properties);
}

test.each([
  failure('connect ECONNREFUSED 127.0.0.1:5432', { code: 'ECONNREFUSED' }),
  failure('read ECONNRESET', { code: 'ECONNRESET' }),
  failure('connect ENOENT /run/.s.PGSQL.5432', { code: 'ENOENT', syscall: 'connect' }),
  failure('terminating connection due to administrator command', { code: '57P01' }),
  failure('the database system is starting up', { code: '57P03' }),
  failure('sorry, too many clients already', { code: '53300' }),
  failure('connection failure', { code: '08006' }),
  failure('cannot execute UPDATE in a read-only transaction', { code: '25006' }),
  failure('Connection terminated unexpectedly'),
  failure('timeout exceeded when trying to connect'),
  failure('timeout expired'),
  failure('Query read timeout'),
  new Error('the query failed', { cause: failure('x', { code: '57P02' }) }),
  Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
])('the database is away after %s', (error) => {
  expect(isDatabaseAway(error)).toBe(true);
});

test.each([
  new Error('anything'),
  failure('duplicate key', { code: '23505' }),
  failure('canceling statement due to statement timeout', { code: '57014' }),
  failure('no such file', { code: 'ENOENT', syscall: 'open' }),
  'Connection terminated',
  null,
  undefined,
])('the database is not away after %s', (error) => {
  expect(isDatabaseAway(error)).toBe(false);
});

test('a cycle of causes ends', () => {
  const error = new Error('round');
  error.cause = error;
  expect(isDatabaseAway(error)).toBe(false);
});
