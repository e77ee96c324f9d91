/**
 * Stores the bytes of uploaded files. Each file is an object that ends with the SHA-256 of the bytes before it. Files
 * never change, so each is stored once.
 */
import { createHash, randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { FileStore } from '../../storage/files/file-store.ts';
import { LocalFileStore } from '../../storage/files/local-file-store.ts';
import { openFileStore, type FileSettings } from '../../storage/files/open-file-store.ts';
import { StoredSecretKeys } from '../../storage/security/secret-keys.ts';
import { BackupError, type BackupStore } from './backup-store.ts';
import type { Manifest } from './manifest.ts';
import { readPacks, type PackWriter } from './packs.ts';

const hashBytes = 32;

/** An uploaded file that a read model names. */
export interface NamedFile {
  readonly name: string;
  readonly size: number;
}

/** Opens the folder of uploaded files; null if they are in S3, which must be backed up by its own means. */
export async function openLocalFiles(
  config: FileSettings,
  pool: pg.Pool,
): Promise<(AsyncDisposable & { readonly store: LocalFileStore }) | null> {
  if (config.FILES_S3_BUCKET !== undefined) return null;
  const keys = await StoredSecretKeys.open(pool);
  try {
    const store = await openFileStore(config, keys);
    if (!(store instanceof LocalFileStore)) throw new Error('the files are not in a folder');
    return {
      store,
      [Symbol.asyncDispose]: async () => {
        await store.close();
        await keys.close();
      },
    };
  } catch (error) {
    await keys.close();
    throw error;
  }
}

/** The object name of a file: hexadecimal, because some file systems ignore case. */
export function fileObject(name: string): string {
  const hex = Buffer.from(name, 'base64url').toString('hex');
  return `files/${hex.slice(0, 2)}/${hex}`;
}

/**
 * SQL for the order of `listFiles`: by the bytes that a name encodes, so that the files of a folder of the store follow
 * each other.
 */
export function inFileOrder(column: string): string {
  return `decode(rpad(translate(${column}, '-_', '+/'), (length(${column}) + 3) / 4 * 4, '='), 'base64')`;
}

/**
 * Knows which files the store has. It lists a folder of the store when the first file of that folder is asked for, and
 * remembers one folder. If files are asked for in the order of their bytes, there are at most 256 listings, however
 * many files there are.
 */
class PresentFiles {
  readonly #store: BackupStore;
  #folder = '';
  #objects: ReadonlySet<string> = new Set();

  constructor(store: BackupStore) {
    this.#store = store;
  }

  async has(name: string): Promise<boolean> {
    const object = fileObject(name);
    const folder = object.slice(0, object.lastIndexOf('/') + 1);
    if (folder !== this.#folder) {
      this.#objects = new Set(await Array.fromAsync(this.#store.list(folder), (found) => found.name));
      this.#folder = folder;
    }
    return this.#objects.has(object);
  }
}

interface FilesBackup {
  /** Null: only the list is stored. */
  readonly files: Pick<FileStore, 'read'> | null;
  readonly store: BackupStore;
  readonly packs: PackWriter;
  /** Whether files that the store has are not stored again. */
  readonly reuses: boolean;
  readonly signal: AbortSignal;
  /** Called with the number of files done so far. */
  readonly onDone: (files: number) => void;
}

/**
 * Stores the files, which must come in the order of `inFileOrder`, and a list of them. With `reuses`, files that the
 * store has are not stored again. A file that was removed after the snapshot is left out.
 */
export async function backupFiles(
  named: AsyncIterable<NamedFile>,
  { files, store, packs, reuses, signal, onDone }: FilesBackup,
): Promise<Manifest['files']> {
  let [done, count, bytes] = [0, 0, 0];
  const present = new PresentFiles(store);
  const lines = async function* (): AsyncGenerator<Buffer> {
    for await (const { name, size } of named) {
      signal.throwIfAborted();
      onDone(done);
      done += 1;
      if (files !== null && !(reuses && (await present.has(name))) && !(await backupFile(name, size, files, store)))
        continue;
      count += 1;
      bytes += size;
      yield Buffer.from(`${name} ${size}\n`);
    }
  };
  const names = await packs.writeStream(lines());
  return { count, bytes, kept: files !== null, names };
}

/** Stores a file; resolves to false if it was removed meanwhile. */
async function backupFile(
  name: string,
  size: number,
  files: Pick<FileStore, 'read'>,
  store: BackupStore,
): Promise<boolean> {
  const content = await files.read(name);
  if (content === null) return false;
  await store.put(fileObject(name), withHash(content), size + hashBytes);
  return true;
}

async function* withHash(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
  yield hash.digest();
}

/** Yields the content of a file. Rejects with BackupError if it is missing or damaged. */
export async function* readFile(store: BackupStore, { name, size }: NamedFile): AsyncGenerator<Uint8Array> {
  const stream = await store.read(fileObject(name));
  if (stream === null) throw new BackupError(`The uploaded file ${name} is missing.`);
  const hash = createHash('sha256');
  let left = size;
  const end: Uint8Array[] = [];
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    const content = chunk.subarray(0, left);
    left -= content.length;
    hash.update(content);
    if (content.length > 0) yield content;
    if (content.length < chunk.length) end.push(chunk.subarray(content.length));
  }
  if (left > 0 || !Buffer.concat(end).equals(hash.digest()))
    throw new BackupError(`The uploaded file ${name} is damaged.`);
}

/** Yields the files of the list in these packs. */
export async function* listFiles(store: BackupStore, names: readonly string[]): AsyncGenerator<NamedFile> {
  let rest = '';
  for await (const content of readPacks(store, names)) {
    const lines = `${rest}${content.toString()}`.split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const [name, size] = line.split(' ') as [string, string];
      yield { name, size: Number(size) };
    }
  }
}

/**
 * Copies the files of a set to the service's store. Files that the store has already stay. `onDone` is called with the
 * number of files done so far.
 */
export async function restoreFiles(
  store: BackupStore,
  set: Manifest,
  files: LocalFileStore,
  signal: AbortSignal,
  onDone: (files: number) => void,
): Promise<void> {
  let done = 0;
  for await (const file of listFiles(store, set.files.names)) {
    signal.throwIfAborted();
    onDone(done);
    done += 1;
    const present = await files.read(file.name);
    present?.destroy();
    if (present !== null) continue;
    const uploadId = randomUUID();
    await files.receive(uploadId, readFile(store, file), file.size);
    await files.seal({ uploadId }, file.name);
    await files.remove({ kind: 'arrived', uploadId });
  }
}
