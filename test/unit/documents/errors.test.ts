/** docs/reference/errors.md: the errors of the interface. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { errorTypes } from '../../../src/api/http/answers/error-types.ts';

const document = await readFile(join(import.meta.dirname, '../../../docs/reference/errors.md'), 'utf8');

test('docs/reference/errors.md lists each error type with its status, an example and what to do, and no other', () => {
  const documented = document
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [, type, status, example, remedy] =
        /^`(\w+)`\n\nStatus (\d+)\.[^>]*\n\n> (.+)\n\n([^#]+)/.exec(section) ?? [];
      return `${type} ${status}${example ? ', an example' : ''}${remedy?.trim() ? ', what to do' : ''}`;
    });
  const expected = Object.entries(errorTypes).map(([type, { status }]) => `${type} ${status}, an example, what to do`);
  expect(documented.toSorted()).toEqual(expected.toSorted());
});
