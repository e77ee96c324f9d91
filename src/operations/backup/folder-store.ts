/** Backups in a folder. */
import { randomUUID } from 'node:crypto';
import { open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { makeFolder } from '../../storage/data-folder.ts';
import { BackupError, type BackupStore, type KeptObject } from './backup-store.ts';

/** The folder of objects that are being written. */
const unfinished = 'unfinished';

/**
 * An unfinished object without a write for this long, in milliseconds, belongs to an interrupted backup. A younger one
 * may belong to a backup that still runs.
 */
const abandonedAfter = 3_600_000;

export class FolderStore implements BackupStore {
  readonly #folder: string;
  readonly #made = new Set<string>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Opens the folder. With `make`, creates it if it is missing, and removes unfinished objects of interrupted backups.
   * Rejects with BackupError if there is no folder, and with errors of the system.
   */
  static async open(folder: string, { make }: { readonly make: boolean }): Promise<FolderStore> {
    if (make) await makeFolder(join(folder, unfinished));
    const isFolder = await stat(folder).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isFolder) throw new BackupError(`There is no folder ${folder}.`);
    const store = new FolderStore(folder);
    if (make) await store.#removeUnfinished();
    return store;
  }

  async put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    const path = join(this.#folder, name);
    const folder = dirname(path);
    if (!this.#made.has(folder)) {
      await makeFolder(join(this.#folder, unfinished));
      await makeFolder(folder);
      for (let made = folder; made !== this.#folder; made = dirname(made)) await syncFolder(dirname(made));
      this.#made.add(folder);
    }
    const part = join(this.#folder, unfinished, randomUUID());
    try {
      const file = await open(part, 'wx', 0o600);
      try {
        if (content instanceof Uint8Array) await file.writeFile(content);
        else for await (const chunk of content) await file.writeFile(chunk);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    await syncFolder(folder);
  }

  async read(name: string): Promise<Readable | null> {
    const file = await unlessMissing(() => open(join(this.#folder, name), 'r'));
    return file?.createReadStream({ highWaterMark: 256 * 1024 }) ?? null;
  }

  async find(name: string): Promise<KeptObject | null> {
    const found = await unlessMissing(() => stat(join(this.#folder, name)));
    return found === null ? null : { name, storedAt: found.mtimeMs };
  }

  async *list(folder: string): AsyncIterable<KeptObject> {
    const entries = await unlessMissing(() => opendir(join(this.#folder, folder), { recursive: true }));
    if (entries === null) return;
    for await (const entry of entries) {
      if (!entry.isFile()) continue;
      const found = await this.find(relative(this.#folder, join(entry.parentPath, entry.name)));
      if (found !== null) yield found;
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
  }

  async close(): Promise<void> {
    // Each use closes what it opened.
  }

  async #removeUnfinished(): Promise<void> {
    for await (const { name, storedAt } of this.list(unfinished)) {
      if (Date.now() - storedAt >= abandonedAfter) await this.remove(name);
    }
  }
}

async function unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Without this, a power failure may lose the name of a file in the folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
