/** The bytes of a file, or of stdin, decompressed, piece by piece. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, pipeline } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { Compression } from '../file-format.ts';
import { UserError } from '../run-to-end.ts';
import { MalformedFile } from './malformed-file.ts';

const pieceBytes = 256 * 1024;
const decoders = { gzip: createGunzip, zstd: createZstdDecompress } as const;

export interface Source {
  /** As its user calls it. */
  readonly name: string;
  /** In bytes, as it is stored; null where that is not known. */
  readonly size: number | null;
  /** How many of those have been read. */
  readonly bytesRead: number;
  /** To be read once. Throws UserError. */
  pieces(): AsyncIterable<Buffer>;
}

/** Opens a file, or stdin for `-`. Throws UserError where there is none. */
export async function openSource(file: string, compression: Compression | null, signal: AbortSignal): Promise<Source> {
  const isStdin = file === '-';
  const size = isStdin ? null : await sizeOf(file);
  const name = isStdin ? 'stdin' : file;
  let bytesRead = 0;
  async function* counted(): AsyncGenerator<Buffer, void, undefined> {
    // Else a stop would wait for whoever writes to stdin.
    const stream = addAbortSignal(signal, isStdin ? process.stdin : createReadStream(file, { highWaterMark: pieceBytes }));
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        bytesRead += piece.length;
        yield piece;
      }
    } catch (error) {
      signal.throwIfAborted();
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      throw new UserError(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
    }
  }
  return {
    name,
    size,
    get bytesRead() { return bytesRead; },
    pieces: () => (compression === null ? counted() : decompressed(counted(), compression)),
  };
}

/** Null for what has no size to begin with, such as a pipe. */
async function sizeOf(file: string): Promise<number | null> {
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) throw new UserError(`${file} is a folder.`);
    return stats.isFile() ? stats.size : null;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function* decompressed(pieces: AsyncIterable<Buffer>, compression: Compression): AsyncGenerator<Buffer, void, undefined> {
  const decoder = decoders[compression]({ chunkSize: pieceBytes });
  let bytesIn = 0;
  let failure: unknown;
  async function* counted(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const piece of pieces) {
        bytesIn += piece.length;
        yield piece;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  // Whatever fails is thrown to the loop below by the decoder, so the callback has nothing to do.
  pipeline(counted, decoder, () => {});
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    if (failure !== undefined) throw failure;
    const { code, message } = error as NodeJS.ErrnoException;
    if (!/^Z_|^ZSTD_|^ERR_/.test(code ?? '')) throw error;
    throw new MalformedFile(null, code === 'Z_BUF_ERROR'
      ? `the ${compression} data ends too soon: the file is cut short`
      : `this is not ${compression} data as it should be: ${message}`);
  }
  // A Zstandard decoder stops at the end of its first frame and says nothing of what follows.
  if (decoder.bytesWritten !== bytesIn) {
    throw new MalformedFile(null, `something follows the ${compression} data; decompress it first and import it from stdin`);
  }
}
