import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FolderStore } from '../../../../src/operations/backup/folder-store.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-folder-store-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test('the next backup removes the rest of an interrupted one, and nothing that another one is writing', async () => {
  const unfinished = join(folder, 'unfinished');
  await mkdir(unfinished);
  for (const name of ['left', 'under-way']) await writeFile(join(unfinished, name), 'half a pack');
  const before = new Date(Date.now() - 3_700_000);
  await utimes(join(unfinished, 'left'), before, before);
  await FolderStore.open(folder, { make: false });
  expect(await readdir(unfinished)).toEqual(['left', 'under-way']);
  const store = await FolderStore.open(folder, { make: true });
  await store.put('packs/aa/aa00', Buffer.from('a pack'));
  expect(await readdir(unfinished)).toEqual(['under-way']);
  expect(await Array.fromAsync(store.list('packs/'), ({ name }) => name)).toEqual(['packs/aa/aa00']);
});

test('an object that could not be written completely does not exist, also not in part', async () => {
  const store = await FolderStore.open(join(folder, 'new'), { make: true });
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half');
    throw new Error('the source broke');
  };
  await expect(store.put('files/aa', broken())).rejects.toThrow('the source broke');
  expect(await store.find('files/aa')).toBeNull();
  expect(await readdir(join(folder, 'new', 'unfinished'))).toEqual([]);
});
