/**
 * Packs are compressed pieces of up to 8 MiB, named by the SHA-256 of their content. Content that has not changed since
 * an earlier set gives the same pack, and is not stored again.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { BackupError, type BackupStore } from './backup-store.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

export const packBytesMax = 8 * 2 ** 20;

/** The size of zlib's output chunks, in bytes. With its default of 16 KiB, compressing takes twice as long. */
const compressedAtOnce = 256 * 1024;
/**
 * The size of zlib's output chunks for a pack, in bytes. Most packs fit into one chunk, because few compress to less
 * than a fifth, and are not copied.
 */
const decompressedAtOnce = (storedBytes: number): number =>
  Math.min(packBytesMax, Math.max(64 * 1024, 5 * storedBytes));

/**
 * The maximum decompressed size of a pack, in bytes: a record of the log is never split, so its pack may exceed 8 MiB.
 */
const contentMax = 64 * 2 ** 20;

/** The name of the object of a pack. */
export function packObject(id: string): string {
  return `packs/${id.slice(0, 2)}/${id}`;
}

/** The ID of the pack with this object name. */
export function packOf(object: string): string {
  return object.slice(object.lastIndexOf('/') + 1);
}

/** Reads a pack. Rejects with BackupError if it is missing or damaged. */
export async function readPack(store: BackupStore, id: string): Promise<Buffer> {
  const stream = await store.read(packObject(id));
  if (stream === null) throw new BackupError(`Pack ${id} is missing.`);
  // `buffer` of stream/consumers would copy the content several times.
  const stored = Buffer.concat((await stream.toArray()) as Buffer[]);
  const content = await decompress(stored, {
    chunkSize: decompressedAtOnce(stored.length),
    maxOutputLength: contentMax,
  }).catch((error: unknown) => {
    throw new BackupError(`Pack ${id} is damaged: it cannot be decompressed.`, { cause: error });
  });
  if (hashOf(content) !== id) throw new BackupError(`Pack ${id} is damaged: its content does not match its hash.`);
  return content;
}

/** Yields the contents of packs in this order. Rejects as `readPack` does. */
export async function* readPacks(store: BackupStore, ids: readonly string[]): AsyncGenerator<Buffer> {
  for (const id of ids) yield await readPack(store, id);
}

export class PackWriter {
  readonly #store: BackupStore;
  /** Packs that are known to be in the store. */
  readonly #usable: Set<string>;
  readonly #reuses: boolean;
  #written = 0;
  #writtenBytes = 0;

  /**
   * `named` are the packs of the newest complete set. With `reuses`, packs that the store has are not written again.
   */
  constructor(store: BackupStore, named: Iterable<string>, { reuses }: { readonly reuses: boolean }) {
    this.#store = store;
    this.#usable = new Set(reuses ? named : []);
    this.#reuses = reuses;
  }

  /** How many packs were stored, and their compressed bytes. Packs that the store had already do not count. */
  get written(): { readonly packs: number; readonly bytes: number } {
    return { packs: this.#written, bytes: this.#writtenBytes };
  }

  /** Stores a pack, unless it reuses the one in the store. Resolves to its ID. */
  async write(content: Uint8Array): Promise<string> {
    const id = hashOf(content);
    if (this.#usable.has(id) || (this.#reuses && (await this.#store.find(packObject(id))) !== null)) return id;
    const compressed = await compress(content, { chunkSize: compressedAtOnce });
    await this.#store.put(packObject(id), compressed, compressed.length);
    this.#written += 1;
    this.#writtenBytes += compressed.length;
    this.#usable.add(id);
    return id;
  }

  /** Cuts a stream into packs. Resolves to their IDs. */
  async writeStream(chunks: AsyncIterable<Uint8Array>): Promise<string[]> {
    const ids: string[] = [];
    let held: Uint8Array[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (bytes === 0) return;
      ids.push(await this.write(Buffer.concat(held)));
      held = [];
      bytes = 0;
    };
    for await (let chunk of chunks) {
      // Cut at fixed places, independent of the sizes of the chunks.
      while (bytes + chunk.length >= packBytesMax) {
        const room = packBytesMax - bytes;
        held.push(chunk.subarray(0, room));
        bytes += room;
        chunk = chunk.subarray(room);
        await flush();
      }
      if (chunk.length > 0) held.push(chunk);
      bytes += chunk.length;
    }
    await flush();
    return ids;
  }
}

function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
