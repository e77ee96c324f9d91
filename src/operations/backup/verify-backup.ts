/**
 * Verifies that a set can be restored, as far as possible without restoring it: all objects that it names exist and are
 * undamaged.
 */
import { BackupError, type BackupStore, type OnProgress } from './backup-store.ts';
import { countRows } from './count-rows.ts';
import { readKeys } from './keys.ts';
import { checkSignature, countsOf, readModelCopies, type BackupSet, type SetCounts } from './manifest.ts';
import { ManifestKey } from './manifest-key.ts';
import { readPack } from './packs.ts';
import { readPackedRecords } from './record-packs.ts';
import { listFiles, readFile } from './uploaded-files.ts';

/** The counts of the set's manifest, which are correct if there are no problems. */
interface Verified extends SetCounts {
  /** The problems found, a sentence each; at most 100. */
  readonly problems: readonly string[];
}

/** After this many problems, verifying stops. */
const problemsMax = 100;

/**
 * Reads all objects of a set. If `passphrase` is null, the signature is not checked and the keys are not decrypted.
 * Rejects with the reason of `signal`.
 */
export async function verifyBackup(
  set: BackupSet,
  store: BackupStore,
  passphrase: Buffer | null,
  signal: AbortSignal,
  onProgress: OnProgress,
): Promise<Verified> {
  const { manifest } = set;
  const problems: string[] = [];
  const check = async (work: () => Promise<void>): Promise<void> => {
    signal.throwIfAborted();
    if (problems.length >= problemsMax) return;
    await work().catch((error: unknown) => {
      problems.push(error instanceof Error ? error.message : String(error));
    });
  };
  if (passphrase !== null) await check(() => checkSignature(set, new ManifestKey(passphrase)));
  const counts = countsOf(manifest);
  const read = new Set<string>();
  const onPack = (id: string): void => {
    read.add(id);
    onProgress('packs', read.size, counts.packs);
  };
  const packs = async function* (ids: readonly string[]): AsyncGenerator<Buffer> {
    for (const id of ids) {
      signal.throwIfAborted();
      yield await readPack(store, id);
      onPack(id);
    }
  };
  for (const { name, streams } of [...readModelCopies(manifest), ...manifest.notes]) {
    for (const stream of streams) {
      await check(async () => {
        const rows = await countRows(packs(stream.packs));
        if (rows !== stream.rows) throw new BackupError(`A part of ${name} has ${rows} rows, not ${stream.rows}.`);
      });
    }
  }
  for (const [partition, copy] of manifest.partitions.entries()) {
    if (copy.records === null) continue;
    await check(async () => {
      let at = 0;
      for await (const _ of readPackedRecords(store, partition, copy)) {
        signal.throwIfAborted();
        onPack(copy.records![at]!.pack);
        at += 1;
      }
    });
  }
  await check(async () => {
    for await (const _ of packs(manifest.files.names));
    let files = 0;
    for await (const file of listFiles(store, manifest.files.names)) {
      if (manifest.files.kept) {
        await check(async () => {
          for await (const _ of readFile(store, file));
        });
      }
      files += 1;
      onProgress('uploaded files', files, counts.files);
    }
    if (files !== counts.files)
      throw new BackupError(`The list of uploaded files has ${files} files, not ${counts.files}.`);
  });
  const { keys } = manifest;
  if (keys !== null) {
    await check(async () => {
      if (passphrase !== null) await readKeys(store, keys, passphrase);
      else if ((await store.find(keys)) === null) throw new Error(`The keys ${keys} are missing.`);
    });
  }
  return { ...counts, problems };
}
