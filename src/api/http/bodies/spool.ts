/**
 * Keeps byte strings until they are read back: the first ones in memory, the others in a file without a name, which
 * disappears with the process.
 */
import { randomUUID } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { HttpError, noEffect } from '../answers/http-error.ts';

/** How many bytes a spool keeps in memory. */
const memoryBytesMax = 1024 * 1024;

/** Write all entries, then read them. Throws HttpError `service_unavailable` for errors of the disk. */
export class Spool implements AsyncDisposable {
  readonly #folder: string;
  readonly #memoryBytesMax: number;
  readonly #inMemory: Uint8Array[] = [];
  #memoryBytes = 0;
  #file: FileHandle | null = null;
  /** The lengths of the entries in the file, and of the file. */
  readonly #lengths: number[] = [];
  #fileBytes = 0;

  constructor(folder: string, bytesMax = memoryBytesMax) {
    this.#folder = folder;
    this.#memoryBytesMax = bytesMax;
  }

  /** Adds an entry. The caller waits for it before it adds the next one. */
  async write(entry: Uint8Array): Promise<void> {
    if (this.#file === null && this.#memoryBytes + entry.length <= this.#memoryBytesMax) {
      this.#inMemory.push(entry);
      this.#memoryBytes += entry.length;
      return;
    }
    try {
      this.#file ??= await openNameless(this.#folder);
      await writeWhole(this.#file, entry, this.#fileBytes);
    } catch (error) {
      throw unavailable(error);
    }
    this.#lengths.push(entry.length);
    this.#fileBytes += entry.length;
  }

  /** The entries in the order in which they were added. They can be read once. */
  async *entries(): AsyncGenerator<Uint8Array, void, undefined> {
    while (this.#inMemory.length > 0) yield this.#inMemory.shift()!;
    let position = 0;
    for (const length of this.#lengths) {
      yield await readWhole(this.#file!, length, position);
      position += length;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }
}

/** A file without a name: the system removes it when it is closed or the process ends. */
async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, `body-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path, { force: true });
  return file;
}

async function writeWhole(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

async function readWhole(file: FileHandle, length: number, position: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) throw new Error(`a spool ends ${length - done} bytes too early`);
    done += bytesRead;
  }
  return bytes;
}

function unavailable(cause: unknown): HttpError {
  return new HttpError(
    'service_unavailable',
    `The service cannot keep the body on its disk until it is whole. ${noEffect}`,
    {},
    { cause },
  );
}
