/** Verifies that a set can be restored, as far as that can be said without restoring it: all that it names is there, and is what was stored. */
import type { BackupStore, OnProgress } from './backup-store.ts';
import { readKeys } from './keys.ts';
import { packsOf, type BackupSet } from './manifest.ts';
import { readPack } from './packs.ts';
import { readRecords } from './record-packs.ts';
import { listFiles, readFile } from './uploaded-files.ts';

export interface Verified {
  readonly packs: number;
  readonly records: number;
  readonly files: number;
  /** What is wrong, a sentence each; empty if all is well. */
  readonly problems: readonly string[];
}

/** How many problems are told. */
const problemsMax = 100;

/** Reads all of a set. `passphrase`: null leaves the keys undecrypted. Rejects with the reason of `signal`. */
export async function verifyBackup(
  { manifest }: BackupSet, store: BackupStore, passphrase: Buffer | null, signal: AbortSignal, onProgress: OnProgress,
): Promise<Verified> {
  const problems: string[] = [];
  const check = async (work: () => Promise<void>): Promise<void> => {
    signal.throwIfAborted();
    if (problems.length >= problemsMax) return;
    await work().catch((error: unknown) => {
      problems.push(error instanceof Error ? error.message : String(error));
    });
  };
  const records = new Set(manifest.partitions.flatMap((partition) => (partition.records ?? []).map(({ pack }) => pack)));
  const ids = new Set(packsOf(manifest));
  let packsDone = 0;
  const onPack = (): void => {
    packsDone += 1;
    onProgress('packs', packsDone, ids.size);
  };
  for (const id of ids) {
    if (records.has(id)) continue;
    await check(async () => void (await readPack(store, id)));
    onPack();
  }
  let recordCount = 0;
  for (const [partition, copy] of manifest.partitions.entries()) {
    if (copy.records === null) continue;
    await check(async () => {
      for await (const batch of readRecords(store, partition, copy)) {
        signal.throwIfAborted();
        recordCount += batch.length;
        onPack();
      }
    });
  }
  let files = 0;
  if (manifest.files.kept) {
    await check(async () => {
      for await (const file of listFiles(store, manifest.files.names)) {
        await check(async () => {
          for await (const _ of readFile(store, file));
        });
        files += 1;
        onProgress('uploaded files', files, manifest.files.count);
      }
    });
  }
  const { keys } = manifest;
  if (keys !== null) {
    await check(async () => {
      if (passphrase !== null) await readKeys(store, keys, passphrase);
      else if ((await store.find(keys)) === null) throw new Error(`The keys ${keys} are missing.`);
    });
  }
  return { packs: ids.size, records: recordCount, files, problems };
}
