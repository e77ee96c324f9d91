/** The lists of files that lead a newcomer through the code: they are short, and each file has what they say. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

/** With the page that has the list. */
const filesMax = 12;

/** The numbered items of a section, each in one line. */
async function itemsOf(page: string, heading: string): Promise<string[]> {
  const [, section] = (await readFile(join(root, page), 'utf8')).split(`\n${heading}\n`);
  const [text] = section!.split(/\n#+ /);
  return [...text!.matchAll(/^\d+\. (.*(?:\n +.*)*)/gm)].map(([, item]) => item!.replaceAll(/\s+/g, ' '));
}

test.each([
  ['ARCHITECTURE.md', '### Follow a PATCH'],
  ['CONTRIBUTING.md', '## Adding a capability'],
  ['CONTRIBUTING.md', '## Adding a column type'],
])('%s, "%s", leads through at most twelve files, and each has what the list names first', async (page, heading) => {
  const items = await itemsOf(page, heading);
  expect(items.length).toBeGreaterThan(1);
  expect(items.length).toBeLessThan(filesMax);
  const wrong: string[] = [];
  for (const item of items) {
    const [, path, name] = /\]\(([^)]+)\).*?`([^`]+)`/.exec(item) ?? [];
    if (path === undefined || !(await readFile(join(root, path), 'utf8')).includes(name!)) wrong.push(item);
  }
  expect(wrong).toEqual([]);
});
