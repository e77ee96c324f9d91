/** The bytes of a file or of stdin, decompressed, as a stream. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { decompress } from '../../api/decompress.ts';
import type { Compression } from '../../../clients/file-import/file-format.ts';
import { MalformedFile } from '../../../clients/file-import/malformed-file.ts';
import type { Source } from '../../../clients/file-import/source.ts';
import { UserError } from '../user-error.ts';

const pieceBytes = 256 * 1024;
const decoders = { gzip: createGunzip, zstd: createZstdDecompress } as const;

/** The name of a file in messages. */
export function sourceName(file: string): string {
  return file === '-' ? 'stdin' : file;
}

/**
 * Opens a file, or stdin for `-`. Rejects with UserError if it does not exist. Its pieces reject with UserError if it
 * cannot be read.
 */
export async function openSource(file: string, compression: Compression | null): Promise<Source> {
  const isStdin = file === '-';
  const size = isStdin ? null : await sizeOf(file);
  const name = sourceName(file);
  let bytesRead = 0;
  async function* counted(signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    // Without the signal, stopping would wait for the writer of stdin.
    const stream = addAbortSignal(
      signal,
      isStdin ? process.stdin : createReadStream(file, { highWaterMark: pieceBytes }),
    );
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
    get bytesRead() {
      return bytesRead;
    },
    pieces: (signal) => (compression === null ? counted(signal) : decompressed(counted(signal), compression)),
  };
}

/** The size in bytes; null for a pipe or a device. */
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

function decompressed(pieces: AsyncIterable<Buffer>, compression: Compression): AsyncIterable<Buffer> {
  return decompress(pieces, decoders[compression]({ chunkSize: pieceBytes }), (error) => {
    if (error === null)
      return new MalformedFile(
        null,
        `something follows the ${compression} data; decompress it first and import it from stdin`,
      );
    const { code, message } = error;
    if (!/^Z_|^ZSTD_|^ERR_/.test(code ?? '')) return error;
    return new MalformedFile(
      null,
      code === 'Z_BUF_ERROR'
        ? `the ${compression} data ends too soon: the file is cut short`
        : `this is not valid ${compression} data: ${message}`,
    );
  });
}
