/**
 * Packs: pieces of up to 8 MiB, compressed, that are named by the SHA-256 of their content. What has not changed since
 * an earlier set is the same pack, and is not stored again.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { BackupError, type BackupStore } from './backup-store.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

export const packBytesMax = 8 * 2 ** 20;

/** How much zlib hands over at a time, in bytes: with its default of 16 KiB it takes twice as long. */
const compressedAtOnce = 256 * 1024;
/** Most packs come in one piece so, and are not copied. They are seldom compressed to less than a fifth. */
const decompressedAtOnce = (storedBytes: number): number =>
  Math.min(packBytesMax, Math.max(64 * 1024, 5 * storedBytes));

/** Of a record of the log, which stands in one pack, at most. */
const contentMax = 64 * 2 ** 20;

/** The name of the object of a pack. */
export function packObject(id: string): string {
  return `packs/${id.slice(0, 2)}/${id}`;
}

/** The pack of an object's name. */
export function packOf(object: string): string {
  return object.slice(object.lastIndexOf('/') + 1);
}

/** Reads a pack. Rejects with BackupError if it is missing or damaged. */
export async function readPack(store: BackupStore, id: string): Promise<Buffer> {
  const stream = await store.read(packObject(id));
  if (stream === null) throw new BackupError(`Pack ${id} is missing.`);
  // The `buffer` of stream/consumers copies all of it several times.
  const stored = Buffer.concat((await stream.toArray()) as Buffer[]);
  const content = await decompress(stored, {
    chunkSize: decompressedAtOnce(stored.length),
    maxOutputLength: contentMax,
  }).catch((error: unknown) => {
    throw new BackupError(`Pack ${id} is damaged: it cannot be decompressed.`, { cause: error });
  });
  if (hashOf(content) !== id)
    throw new BackupError(`Pack ${id} is damaged: its content is another one than was stored.`);
  return content;
}

/** The contents of packs one after another. */
export async function* readPacks(store: BackupStore, ids: readonly string[]): AsyncGenerator<Buffer> {
  for (const id of ids) yield await readPack(store, id);
}

export class PackWriter {
  readonly #store: BackupStore;
  /** Packs that need not be looked for. */
  readonly #usable: Set<string>;
  readonly #reuses: boolean;
  #written = 0;
  #writtenBytes = 0;

  /** `named`: packs that the newest complete set names. `reuses`: whether packs that are there are left as they are. */
  constructor(store: BackupStore, named: Iterable<string>, { reuses }: { readonly reuses: boolean }) {
    this.#store = store;
    this.#usable = new Set(reuses ? named : []);
    this.#reuses = reuses;
  }

  /** How many packs were stored, and their bytes; packs that were there do not count. */
  get written(): { readonly packs: number; readonly bytes: number } {
    return { packs: this.#written, bytes: this.#writtenBytes };
  }

  /** Stores a pack, unless one that is there is used. Resolves to its ID. */
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
      // Always cut at the same places, however the stream was cut before.
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
