/**
 * Files in a folder: `temporary` for writes in progress, `arrived` for the complete bytes of uploads, `files` for
 * sealed files. Every acknowledged file survives a power failure. Several processes may share one folder.
 */
import { constants } from 'node:fs';
import { link, lstat, open, opendir, readFile, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { ConfigError } from '../config-error.ts';
import { makeFolder } from '../data-folder.ts';
import type { SecretKeys } from '../security/secret-keys.ts';
import { isFileName } from './file-name.ts';
import {
  isUploadId,
  readBytes,
  StoreAway,
  type ExpectedUpload,
  type FileStore,
  type StoredObject,
} from './file-store.ts';
import { signUploadUrl } from '../security/upload-signature.ts';

/** An upload received more bytes than it may have. */
export class UploadTooLarge extends Error {
  override readonly name = 'UploadTooLarge';

  constructor(sizeMax: number) {
    super(`an upload has more than the ${sizeMax} bytes that it may have`);
  }
}

interface LocalFileStoreOptions {
  /** An existing folder that nobody else writes to. */
  readonly folder: string;
  readonly keys: SecretKeys;
  /** The address at which clients reach the service; null: the address of each client's request. */
  readonly publicUrl: string | null;
}

export class LocalFileStore implements FileStore {
  readonly #folder: string;
  readonly #keys: SecretKeys;
  readonly #publicUrl: string | null;

  private constructor({ folder, keys, publicUrl }: LocalFileStoreOptions) {
    this.#folder = folder;
    this.#keys = keys;
    this.#publicUrl = publicUrl;
  }

  /**
   * Creates the folders. Rejects with ConfigError if the file system has no hard links, and with the system's error if
   * a folder cannot be created.
   */
  static async open(options: LocalFileStoreOptions): Promise<LocalFileStore> {
    const store = new LocalFileStore(options);
    await store.#makeFolders();
    await store.#checkLinks();
    return store;
  }

  async locate(upload: ExpectedUpload, origin: string): Promise<string> {
    return signUploadUrl(this.#keys, upload, this.#publicUrl ?? origin);
  }

  /**
   * Receives the bytes of an upload, which replace earlier bytes of the same upload. Rejects with UploadTooLarge as
   * soon as the bytes exceed `sizeMax`, with StoreAway, and with errors of `chunks`. If it rejects, nothing has
   * changed.
   */
  async receive(uploadId: string, chunks: AsyncIterable<Uint8Array>, sizeMax: number): Promise<void> {
    const arrived = this.#pathOf({ kind: 'arrived', uploadId });
    const temporary = join(this.#folder, 'temporary', randomUUID());
    if (arrived === null) throw new RangeError('this is no ID of an upload');
    try {
      const file = await inStore(() => open(temporary, 'wx', 0o600));
      try {
        await write(file, chunks, sizeMax);
        await inStore(() => file.sync());
      } finally {
        await inStore(() => file.close());
      }
      await inStore(() => rename(temporary, arrived));
    } catch (error) {
      // If the removal fails too, `list` finds the file later. Report the first error.
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
    await inStore(() => syncFolder(join(this.#folder, 'arrived')));
  }

  async seal({ uploadId }: Pick<ExpectedUpload, 'uploadId'>, name: string): Promise<{ readonly size: number } | null> {
    const arrived = this.#pathOf({ kind: 'arrived', uploadId });
    const file = this.#pathOf({ kind: 'file', name });
    if (file === null) throw new RangeError('this is no name of a file');
    if (arrived === null) return null;
    // A hard link copies no bytes. Bytes that arrive later go to a new file under the path of `arrived`. `receive` has
    // enforced `sizeMax`.
    const linked = await this.#unlessMissing(async () => {
      await link(arrived, file);
      return true;
    });
    if (linked === null) return null;
    return inStore(async () => {
      await syncFolder(join(file, '..'));
      return { size: (await stat(file)).size };
    });
  }

  async read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable | null> {
    const path = this.#pathOf({ kind: 'file', name });
    const file = path === null ? null : await this.#unlessMissing(() => open(path, 'r'));
    return file?.createReadStream({ ...range, highWaterMark: readBytes }) ?? null;
  }

  async remove(object: StoredObject): Promise<void> {
    const path = this.#pathOf(object);
    if (path !== null) await inStore(() => rm(path, { force: true }));
  }

  async *list(before: number): AsyncIterable<StoredObject> {
    for (const shard of shards) {
      yield* this.#listFolder(join('files', shard), before, (text) => ({
        kind: 'file',
        name: Buffer.from(text, 'hex').toString('base64url'),
      }));
    }
    yield* this.#listFolder('arrived', before, (uploadId) => ({ kind: 'arrived', uploadId }));
    yield* this.#listFolder('temporary', before, (name) => ({ kind: 'temporary', name }));
  }

  async belongsTo(owner: string): Promise<boolean> {
    const path = join(this.#folder, 'owner');
    return inStore(async () => {
      try {
        await writeFile(path, owner, { flag: 'wx', flush: true });
        await syncFolder(this.#folder);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        return (await readFile(path, 'utf8')) === owner;
      }
    });
  }

  async close(): Promise<void> {
    // Each use closes what it opened.
  }

  async *#listFolder(
    folder: string,
    before: number,
    objectOf: (text: string) => StoredObject,
  ): AsyncIterable<StoredObject> {
    const entries = await inStore(() => opendir(join(this.#folder, folder)));
    try {
      for (;;) {
        const entry = await inStore(() => entries.read());
        if (entry === null) return;
        const object = objectOf(entry.name);
        const path = this.#pathOf(object);
        // Ignores files whose names this store does not create.
        if (path !== join(this.#folder, folder, entry.name)) continue;
        // Linking sets ctime, so the age counts from the file's name, not from its bytes.
        const found = await this.#unlessMissing(() => lstat(path));
        if (found !== null && found.ctimeMs < before) yield object;
      }
    } finally {
      await entries.close();
    }
  }

  /** Null if this store does not create such names. */
  #pathOf(object: StoredObject): string | null {
    switch (object.kind) {
      case 'file': {
        if (!isFileName(object.name)) return null;
        // Hexadecimal, because some file systems ignore case.
        const hex = Buffer.from(object.name, 'base64url').toString('hex');
        return join(this.#folder, 'files', hex.slice(0, 2), hex);
      }
      case 'arrived':
        return isUploadId(object.uploadId) ? join(this.#folder, 'arrived', object.uploadId) : null;
      case 'temporary':
        return isUploadId(object.name) ? join(this.#folder, 'temporary', object.name) : null;
    }
  }

  /** Null if the file is missing but its folder exists. */
  #unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
    return inStore(async () => {
      try {
        return await work();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        // If the folder is missing too, the disk is gone, not the file.
        await stat(join(this.#folder, 'arrived'));
        return null;
      }
    });
  }

  /** Creates all folders at the start, so that no later write finds one missing. */
  async #makeFolders(): Promise<void> {
    const files = join(this.#folder, 'files');
    await Promise.all(['temporary', 'arrived', 'files'].map((name) => makeFolder(join(this.#folder, name))));
    await Promise.all(shards.map((shard) => makeFolder(join(files, shard))));
    await syncFolder(files);
    await syncFolder(this.#folder);
  }

  /** `seal` needs hard links, which some file systems lack. */
  async #checkLinks(): Promise<void> {
    const [first, second] = [randomUUID(), randomUUID()].map((name) => join(this.#folder, 'temporary', name)) as [
      string,
      string,
    ];
    try {
      await (await open(first, 'wx')).close();
      await link(first, second);
    } catch (error) {
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? ''))
        throw error;
      throw new ConfigError(['FILES_DIR: its file system has no hard links; name a folder on another one'], {
        cause: error,
      });
    } finally {
      await Promise.all([first, second].map((path) => rm(path, { force: true })));
    }
  }
}

/** The subfolders of `files`: the first byte of a name, in hexadecimal. */
const shards = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Runs work on the folder. A system error means that the folder cannot be used: it is full, broken, or gone. */
async function inStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isOfSystem(error) ? new StoreAway({ cause: error as Error }) : error;
  }
}

function isOfSystem(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.errno !== undefined;
}

async function write(file: FileHandle, chunks: AsyncIterable<Uint8Array>, sizeMax: number): Promise<void> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > sizeMax) throw new UploadTooLarge(sizeMax);
    await inStore(() => file.writeFile(chunk));
  }
}

/** Without this, a power failure may lose the name of a file in the folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
