import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { BackupStore } from '../../../../src/operations/backup/backup-store.ts';
import { FolderStore } from '../../../../src/operations/backup/folder-store.ts';
import { PackWriter } from '../../../../src/operations/backup/packs.ts';
import { backupFiles, readFile, type NamedFile } from '../../../../src/operations/backup/uploaded-files.ts';
import { newFileName } from '../../../../src/storage/files/new-file-name.ts';

let folder: string;
let store: FolderStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-uploaded-files-'));
  store = await FolderStore.open(folder, { make: true });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** In the order in which a backup lists files. */
function inOrder(names: readonly string[]): string[] {
  return names.toSorted((a, b) => Buffer.compare(Buffer.from(a, 'base64url'), Buffer.from(b, 'base64url')));
}

const names = (count: number): string[] => inOrder(Array.from({ length: count }, newFileName));

/** The store, with a count of what it is asked. */
function counting(asked: { find: number; list: number }): BackupStore {
  return {
    put: (name, content) => store.put(name, content),
    read: (name) => store.read(name),
    remove: (name) => store.remove(name),
    close: () => store.close(),
    find: (name) => {
      if (name.startsWith('files/')) asked.find += 1;
      return store.find(name);
    },
    list: (within) => {
      asked.list += 1;
      return store.list(within);
    },
  };
}

/** Takes a backup of files whose content is their name. Resolves to the names of those that were read. */
async function takeFiles(files: readonly string[], to: BackupStore = store, reuses = true): Promise<readonly string[]> {
  const read: string[] = [];
  const named = async function* (): AsyncGenerator<NamedFile> {
    for (const name of files) yield { name, size: name.length };
  };
  const source = {
    read: async (name: string): Promise<Readable> => {
      read.push(name);
      return Readable.from([Buffer.from(name)]);
    },
  };
  const packs = new PackWriter(store, [], { reuses: true });
  const kept = await backupFiles(named(), {
    files: source,
    store: to,
    packs,
    reuses,
    signal: new AbortController().signal,
    onDone: () => undefined,
  });
  expect(kept).toMatchObject({ count: files.length, kept: true });
  return read;
}

test('a backup of files that the store has needs only listings, not a request for each file', async () => {
  const files = names(300);
  expect(await takeFiles(files)).toEqual(files);
  const asked = { find: 0, list: 0 };
  const more = names(3);
  expect(await takeFiles(inOrder([...files, ...more]), counting(asked))).toEqual(inOrder(more));
  expect(asked.find).toBe(0);
  expect(asked.list).toBeLessThanOrEqual(256);
  for (const name of [...files, ...more])
    expect((await Array.fromAsync(readFile(store, { name, size: name.length }))).join('')).toBe(name);
});

test('a full backup reads all files, whatever the store has', async () => {
  const files = names(5);
  await takeFiles(files);
  expect(await takeFiles(files, store, false)).toEqual(files);
});
