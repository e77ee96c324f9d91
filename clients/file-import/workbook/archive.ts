/**
 * The parts of a workbook, which is a zip archive of XML. Each part is read while it is unpacked, and only up to a
 * limit, because the sizes in an archive may be wrong.
 */
import { BlobReader, configure, ZipReader, type FileEntry } from '@zip.js/zip.js';
import { MalformedFile } from '../malformed-file.ts';

// The console allows no workers but its own, and Node unpacks in threads anyway.
configure({ useWebWorkers: false });

/** Maximum of unpacked bytes of a part, by its kind. */
const partBytesMax = { sheet: 4 * 2 ** 30, texts: 256 * 2 ** 20, other: 16 * 2 ** 20 } as const;
type PartKind = keyof typeof partBytesMax;

/**
 * From this size on, a part may be at most so many times as large as its packed bytes. Real sheets are 10 to 100 times
 * as large.
 */
const expansion = { fromBytes: 64 * 2 ** 20, timesMax: 500 } as const;

/** Maximum of parts, and of characters in all their names. */
const partsMax = 10_000;
const nameCharactersMax = 4 * 2 ** 20;

export class Archive {
  readonly #reader: ZipReader<unknown>;
  readonly #entries: ReadonlyMap<string, FileEntry>;

  private constructor(reader: ZipReader<unknown>, entries: ReadonlyMap<string, FileEntry>) {
    this.#reader = reader;
    this.#entries = entries;
  }

  /** Throws MalformedFile. */
  static async open(bytes: Blob): Promise<Archive> {
    const reader = new ZipReader(new BlobReader(bytes), { checkCrc32: true });
    try {
      return new Archive(reader, await entriesOf(reader));
    } catch (error) {
      await reader.close();
      throw malformed(error);
    }
  }

  has(name: string): boolean {
    return this.#entries.has(keyOf(name));
  }

  /** The text of a part, in pieces. Throws MalformedFile, and the reason of the signal. */
  async *text(name: string, kind: PartKind, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    const entry = this.#entries.get(keyOf(name));
    if (entry === undefined) throw new MalformedFile(null, `the workbook has no part ${name}`);
    if (entry.encrypted)
      throw new MalformedFile(null, 'the workbook is protected with a password: save it without one');
    const stop = new AbortController();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const unpacked = entry.getData(writable, { signal: AbortSignal.any([signal, stop.signal]) });
    // It fails if reading fails, or if nobody reads on.
    unpacked.catch(() => undefined);
    const reader = readable.getReader();
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let bytes = 0;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        bytes += value.length;
        if (bytes > partBytesMax[kind])
          throw new MalformedFile(
            null,
            `the workbook is too large: its part ${name} has more than ${partBytesMax[kind]} bytes when it is unpacked`,
          );
        if (bytes > expansion.fromBytes && bytes > expansion.timesMax * entry.compressedSize)
          throw new MalformedFile(
            null,
            `the workbook is too large: its part ${name} is more than ${expansion.timesMax} times as large when it is unpacked`,
          );
        yield decoder.decode(value, { stream: true });
      }
      yield decoder.decode();
      await unpacked;
    } catch (error) {
      signal.throwIfAborted();
      throw malformed(error);
    } finally {
      stop.abort();
      // Both may have failed already; those errors are known by now.
      await Promise.allSettled([reader.cancel(), unpacked]);
    }
  }

  async close(): Promise<void> {
    await this.#reader.close();
  }
}

/** Throws MalformedFile. */
async function entriesOf(reader: ZipReader<unknown>): Promise<Map<string, FileEntry>> {
  const entries = new Map<string, FileEntry>();
  let count = 0;
  let characters = 0;
  for await (const entry of reader.getEntriesGenerator()) {
    count += 1;
    characters += entry.filename.length;
    if (count > partsMax || characters > nameCharactersMax)
      throw new MalformedFile(
        null,
        `the workbook is too large: it has more than ${partsMax} parts, or very long names`,
      );
    if (!entry.directory) entries.set(keyOf(entry.filename), entry);
  }
  return entries;
}

/**
 * The key of a part by its name. Programs disagree on case, on slashes, and on which characters are escaped (`%20`).
 */
function keyOf(name: string): string {
  return decoded(name.replaceAll('\\', '/').replace(/^\//, '')).toLowerCase();
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    // The name has a percent sign of its own.
    return name;
  }
}

function malformed(error: unknown): MalformedFile {
  return error instanceof MalformedFile
    ? error
    : new MalformedFile(null, `this is not a valid workbook (.xlsx): ${(error as Error).message}`);
}
