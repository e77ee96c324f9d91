import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { copyMissing } from '../../editor/copy-missing.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const settings = join(root, 'test', 'editor', 'vscode');

async function read<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(join(root, path), 'utf8')) as T;
}

test('a file that is there stays as it is, and the others are copied', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-editor-'));
  try {
    await writeFile(join(folder, 'settings.json'), '{}');
    expect((await copyMissing(settings, folder)).kept).toEqual(['settings.json']);
    expect(await readFile(join(folder, 'settings.json'), 'utf8')).toBe('{}');
    expect(await readdir(folder)).toEqual(await readdir(settings));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the tasks of the editor run scripts that package.json has', async () => {
  const { scripts } = await read<{ scripts: Record<string, string> }>('package.json');
  const { tasks } = await read<{ tasks: { script?: string; args?: string[] }[] }>('test/editor/vscode/tasks.json');
  const named = tasks.map(({ script, args }) => script ?? args![1]!);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test('the debugger starts programs that exist', async () => {
  const { configurations } = await read<{ configurations: { program: string }[] }>('test/editor/vscode/launch.json');
  for (const { program } of configurations) await stat(program.replace('${workspaceFolder}', root));
});
