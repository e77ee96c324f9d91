import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FolderStore } from '../../../../src/operations/backup/folder-store.ts';
import { listSets, writeManifest, type Manifest } from '../../../../src/operations/backup/manifest.ts';
import { packObject, PackWriter } from '../../../../src/operations/backup/packs.ts';
import { removeSets } from '../../../../src/operations/backup/remove-sets.ts';
import { fileObject } from '../../../../src/operations/backup/uploaded-files.ts';

let folder: string;
let store: FolderStore;
let packs: PackWriter;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-remove-sets-'));
  store = await FolderStore.open(folder, { make: true });
  packs = new PackWriter(store, new Set(), { reuses: true });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const { signal } = new AbortController();
const day = 86_400_000;

/** Stores a set of a table, records, a file and keys, and makes its objects look so old. */
async function takeSet(
  takenAt: number,
  content: string,
  shared: string,
): Promise<{ readonly id: string; readonly objects: readonly string[] }> {
  const [rows, common, records] = [
    await packs.write(Buffer.from(`rows ${content}`)),
    await packs.write(Buffer.from(shared)),
    await packs.write(Buffer.from(`records ${content}`)),
  ];
  const file = createHash('sha256').update(content).digest('base64url');
  const names = await packs.write(Buffer.from(`${file} 4\n`));
  for (const name of [fileObject(file), `keys/${content}`]) await store.put(name, Buffer.from('some'));
  const written: Manifest = {
    format: 2,
    takenAt,
    snapshotMs: 1,
    readModel: 'tablog_17',
    localKeys: '1',
    notes: [],
    tables: [{ name: 'rows', columns: ['a'] }],
    partitions: [
      {
        next: '1',
        base: '0',
        logId: null,
        lastHash: null,
        digest: '0'.repeat(64),
        tables: [{ name: 'rows', width: null, streams: [{ rows: 1, packs: [rows, common] }] }],
        records: [{ first: '0', pack: records, bytes: 9 }],
      },
    ],
    keys: `keys/${content}`,
    files: { count: 1, bytes: 4, kept: true, names: [names] },
  };
  return {
    id: await writeManifest(store, written, null),
    objects: [packObject(rows), packObject(records), packObject(names), fileObject(file), `keys/${content}`],
  };
}

async function objects(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

async function age(names: readonly string[], ms: number): Promise<void> {
  const then = new Date(Date.now() - ms);
  for (const name of names) await utimes(join(folder, name), then, then);
}

test('removes packs that only old sets name, and packs that no set names, once they are a day old', async () => {
  const old = await takeSet(1, 'old', 'shared');
  const kept = await takeSet(2, 'kept', 'shared');
  const interrupted = packObject(await packs.write(Buffer.from('of a backup that was interrupted')));
  const left = packObject(await packs.write(Buffer.from('of one that was interrupted days ago')));
  await age(await objects(), 2 * day);
  await age([interrupted], day / 2);
  const before = await objects();
  const removed = await removeSets(store, 1, signal);
  expect(removed).toEqual({ sets: [old.id], objects: old.objects.length + 1 });
  expect(await listSets(store)).toEqual([kept.id]);
  const gone = new Set([...old.objects, left, `sets/${old.id}.json`]);
  expect((await objects()).toSorted()).toEqual(before.filter((name) => !gone.has(name)).toSorted());
});

test('removes nothing while a kept set cannot be read', async () => {
  await takeSet(1, 'old', 'shared');
  await store.put('sets/99991231T235959999Z-0123456789abcdef.json', Buffer.from('{}'));
  await age(await objects(), 2 * day);
  const before = await objects();
  await expect(removeSets(store, 1, signal)).rejects.toThrow('is damaged');
  expect(await objects()).toEqual(before);
});

test('a pack is stored once, unless packs are not reused', async () => {
  const content = Buffer.from('rows');
  const name = packObject(await packs.write(content));
  await packs.write(content);
  expect(packs.written.packs).toBe(1);
  await store.put(name, Buffer.from('damage'));
  await packs.write(content);
  expect(packs.written.packs).toBe(1);
  const full = new PackWriter(store, new Set([name.split('/').at(-1)!]), { reuses: false });
  await full.write(content);
  expect(full.written.packs).toBe(1);
  expect((await objects()).filter((each) => each === name)).toHaveLength(1);
});
