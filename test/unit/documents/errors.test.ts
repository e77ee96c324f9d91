/** docs/reference/errors.md: the errors of the interface. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { statusOf } from '../../../src/api/http/answers/http-error.ts';

const document = await readFile(join(import.meta.dirname, '../../../docs/reference/errors.md'), 'utf8');

test('docs/reference/errors.md lists each error type with its status, an example and what to do, and no other', () => {
  const documented = document
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [, type, status, example, remedy] =
        /^`(\w+)`\n\nStatus (\d+)\.[^>]*\n\n> (.+)\n\n([^#]+)/.exec(section) ?? [];
      return { type, status: Number(status), hasExample: Boolean(example), hasRemedy: Boolean(remedy?.trim()) };
    });
  const expected = Object.entries(statusOf).map(([type, status]) => ({
    type,
    status,
    hasExample: true,
    hasRemedy: true,
  }));
  const byType = (a: { type?: string }, b: { type?: string }): number => a.type!.localeCompare(b.type!);
  expect(documented.toSorted(byType)).toEqual(expected.toSorted(byType));
});
