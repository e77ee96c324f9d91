/** docs/reference/command-line.md: the commands of `tablog`. */
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { blocksOf } from '../../support/documents/blocks.ts';

const root = join(import.meta.dirname, '../../..');

test('docs/reference/command-line.md names each command of tablog', async () => {
  const document = await readFile(join(root, 'docs/reference/command-line.md'), 'utf8');
  const commands = new Set<string>();
  for await (const path of glob('src/cli/**/*.ts', { cwd: root }))
    for (const [, name] of (await readFile(join(root, path), 'utf8')).matchAll(/\.command\('([\w-]+)/g))
      commands.add(name!);
  expect(commands.size).toBeGreaterThan(15);
  const named = [...commands].filter((name) => new RegExp(`tablog (\\w+ )?${name}\\b`).test(document));
  expect(named.toSorted()).toEqual([...commands].toSorted());
});

test('docs/reference/command-line.md has examples that a test runs', async () => {
  const document = await readFile(join(root, 'docs/reference/command-line.md'), 'utf8');
  const examples = blocksOf(document).filter(({ language }) => language === 'sh');
  expect(examples.length).toBeGreaterThan(3);
});
