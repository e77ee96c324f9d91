/** Removes old sets, and the objects that no other set names. */
import type { BackupStore, KeptObject } from './backup-store.ts';
import { listSets, packsOf, readSet, removeManifest } from './manifest.ts';
import { packOf } from './packs.ts';
import { fileObject, listFiles } from './uploaded-files.ts';
import { withStoreLease } from './store-lease.ts';

/**
 * Objects that no set names are kept for this long, in milliseconds, because the next backup reuses the objects of an
 * interrupted one.
 */
const unnamedForMs = 24 * 3_600_000;

interface Removed {
  readonly sets: readonly string[];
  /** How many packs, files and keys were removed. */
  readonly objects: number;
}

/**
 * Keeps the newest `keep` sets, at least one, and removes the others. Removes objects that no kept set names once they
 * are a day old, because the next backup reuses the objects of an interrupted one. It can be interrupted anywhere and
 * run again. If a backup is running, or a kept set cannot be read, rejects with BackupError and removes nothing.
 */
export async function removeSets(
  store: BackupStore,
  keep: number,
  signal: AbortSignal,
  unnamedFor = unnamedForMs,
): Promise<Removed> {
  // Without a set there is nothing to remove, so do not write a lease either.
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
  // Remove the manifests first, so that no manifest ever names a missing object.
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
