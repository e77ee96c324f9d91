/** Links between documents: what they lead to is there. */
import { glob, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

test('each link between documents leads to a file, and to a heading of it', async () => {
  const wrong: string[] = [];
  for await (const path of glob('**/*.md', { cwd: root, exclude: ['**/node_modules', '**/dist', 'data'] })) {
    const text = withoutBlocks(await readFile(join(root, path), 'utf8'));
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g))
      if (!/^[a-z]+:/.test(target!) && !(await leadsSomewhere(path, target!))) wrong.push(`${path}: ${target}`);
  }
  expect(wrong).toEqual([]);
});

test('docs/README.md has a link to each page of docs but the decisions', async () => {
  const map = await readFile(join(root, 'docs/README.md'), 'utf8');
  const linked = new Set([...map.matchAll(/\]\(([^)#\s]+)/g)].map(([, target]) => target!));
  const missing: string[] = [];
  for await (const path of glob('docs/**/*.md', { cwd: root })) {
    const name = relative('docs', path);
    if (name !== 'README.md' && !name.startsWith('decisions/') && !linked.has(name)) missing.push(name);
  }
  expect(missing).toEqual([]);
});

const withoutBlocks = (text: string): string => text.replaceAll(/^( *)```[^]*?^\1```$/gm, '');

async function leadsSomewhere(from: string, target: string): Promise<boolean> {
  const [path, heading] = target.split('#');
  const file = path === '' ? join(root, from) : join(root, dirname(from), path!);
  const found = await stat(file).catch(() => null);
  if (found === null) return false;
  return heading === undefined || anchorsOf(await readFile(file, 'utf8')).has(heading);
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
