/** Which errors of DuckDB end a query process. */
import { expect, test } from '@jest/globals';
import { isBroken } from '../../../../../src/api/query/engine/ending.ts';
import { QueryError } from '../../../../../src/api/query/language/query-error.ts';

test.each([
  [true, new Error('INTERNAL Error: Memory allocation failure\n\nStack Trace:\n')],
  [true, new Error('FATAL Error: Failed: database has been invalidated because of a previous fatal error.')],
  [true, new Error('Failed to extract statements: INTERNAL Error: x')],
  [true, new QueryError('service_unavailable', 'later', { cause: new Error('FATAL Error: x') })],
  // What a query says itself.
  [false, new Error('Invalid Input Error: INTERNAL Error: said the query')],
  [
    false,
    new QueryError('query_invalid', 'INTERNAL Error: said the query', {
      cause: new Error('Invalid Input Error: INTERNAL Error: said the query'),
    }),
  ],
  [false, new Error('Out of Memory Error: x')],
  [false, 'INTERNAL Error'],
])('the process counts as broken (%s) after %s', (isSo, error) => {
  expect(isBroken(error)).toBe(isSo);
});
