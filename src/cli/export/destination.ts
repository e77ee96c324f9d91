/** The destination of an export: stdout, or a file that appears only once it is complete. */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMessage } from 'node:util';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { Compression } from '../../../clients/file-import/file-format.ts';
import { UserError } from '../user-error.ts';

/** The content in parts, texts or bytes. */
type Content = AsyncIterable<string | Uint8Array> | Iterable<string>;

const encoders = {
  gzip: () => createGzip(),
  // With a checksum, like the `zstd` command.
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
} as const;

/** Writes to stdout. Resolves to false if the reader closed it (`| head`). */
export async function writeToStdout(
  content: Content,
  compression: Compression | null,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await write(content, compression, process.stdout, signal, false);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    return false;
  }
}

/**
 * Writes to a temporary file and renames it at the end, so that nobody mistakes a part for the whole. Rejects with
 * UserError.
 */
export async function writeToFile(
  file: string,
  content: Content,
  compression: Compression | null,
  signal: AbortSignal,
): Promise<void> {
  const target = await targetOf(file);
  const written = target.isReplaced
    ? join(dirname(target.path), `.${basename(target.path)}.${randomUUID()}.part`)
    : target.path;
  try {
    const stream = createWriteStream(written, { flags: target.isReplaced ? 'wx' : 'w', flush: target.isReplaced });
    await write(content, compression, stream, signal, true);
    if (target.isReplaced) await rename(written, target.path);
  } catch (error) {
    if (target.isReplaced) await rm(written, { force: true });
    signal.throwIfAborted();
    throw describeProblem(error, file);
  }
}

/** Words a system error with the user's file: the system's message names the temporary file. */
function describeProblem(error: unknown, file: string): unknown {
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined || errno === undefined) return error;
  const folder = dirname(file);
  const problem =
    code === 'ENOENT'
      ? `there is no folder ${folder}`
      : code === 'ENOTDIR'
        ? `${folder} is not a folder`
        : getSystemErrorMessage(errno);
  return new UserError(`${file} cannot be written: ${problem}`, { cause: error });
}

/**
 * The path to write. A device or a pipe is written directly. If the file is a symbolic link, its target is replaced.
 */
async function targetOf(file: string): Promise<{ readonly path: string; readonly isReplaced: boolean }> {
  try {
    const path = await realpath(file);
    const stats = await stat(path);
    if (stats.isDirectory()) throw new UserError(`${file} is a folder.`);
    return { path, isReplaced: stats.isFile() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { path: file, isReplaced: true };
    throw describeProblem(error, file);
  }
}

async function write(
  content: Content,
  compression: Compression | null,
  target: NodeJS.WritableStream,
  signal: AbortSignal,
  end: boolean,
): Promise<void> {
  const source = Readable.from(content, { objectMode: true, highWaterMark: 1 });
  const stages = compression === null ? [source, target] : [source, encoders[compression](), target];
  await pipeline(stages as [Readable, NodeJS.WritableStream], { signal, end });
}
