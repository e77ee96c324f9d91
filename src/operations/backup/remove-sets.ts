/** Removes old sets, and what only they name. */
import type { BackupStore, KeptObject } from './backup-store.ts';
import { listSets, packsOf, readSet, removeManifest } from './manifest.ts';
import { packOf } from './packs.ts';
import { fileObject, listFiles } from './uploaded-files.ts';
import { withStoreLease } from './store-lease.ts';

/** For so long, in milliseconds, what no set names is kept: a backup that was interrupted goes on with it. */
const unnamedForMs = 24 * 3_600_000;

interface Removed {
  readonly sets: readonly string[];
  /** Packs, files and keys. */
  readonly objects: number;
}

/**
 * Keeps the newest sets, `keep` of them, at least one. What no kept set names is removed once it is a day old: before
 * that, a backup that was interrupted may go on with it. Interrupted at any place, it can be run again. Rejects with
 * BackupError, and then removes nothing, if a backup is under way, or a kept set cannot be read.
 */
export async function removeSets(
  store: BackupStore,
  keep: number,
  signal: AbortSignal,
  unnamedFor = unnamedForMs,
): Promise<Removed> {
  // Where nothing was backed up, nothing is written either.
  if ((await listSets(store)).length === 0) return { sets: [], objects: 0 };
  return withStoreLease(store, 'removal', (lease) =>
    removeUnderLease(store, keep, unnamedFor, () => {
      signal.throwIfAborted();
      lease.check();
    }),
  );
}

async function removeUnderLease(
  store: BackupStore,
  keep: number,
  unnamedFor: number,
  check: () => void,
): Promise<Removed> {
  const sets = await listSets(store);
  const kept = sets.slice(-Math.max(1, keep));
  const old = sets.slice(0, sets.length - kept.length);
  const named = { packs: new Set<string>(), files: new Set<string>(), keys: new Set<string>() };
  for (const id of kept) {
    const { manifest } = await readSet(store, id);
    for (const pack of packsOf(manifest)) named.packs.add(pack);
    if (manifest.files.kept)
      for await (const { name } of listFiles(store, manifest.files.names)) named.files.add(fileObject(name));
    if (manifest.keys !== null) named.keys.add(manifest.keys);
  }
  // First the manifests: a set that lacks something never has one.
  for (const id of old) {
    check();
    await removeManifest(store, id);
  }
  const before = Date.now() - unnamedFor;
  let objects = 0;
  const removeUnnamed = async (folder: string, isNamed: (object: KeptObject) => boolean): Promise<void> => {
    for await (const object of store.list(folder)) {
      check();
      if (object.storedAt >= before || isNamed(object)) continue;
      await store.remove(object.name);
      objects += 1;
    }
  };
  await removeUnnamed('packs/', ({ name }) => named.packs.has(packOf(name)));
  await removeUnnamed('files/', ({ name }) => named.files.has(name));
  await removeUnnamed('keys/', ({ name }) => named.keys.has(name));
  return { sets: old, objects };
}
