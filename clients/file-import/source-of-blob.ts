/** Reads a file of a browser, or any text in memory. */
import { formatOfName } from './file-format.ts';
import { MalformedFile } from './malformed-file.ts';
import type { Source } from './source.ts';

/**
 * The source of a file. A file whose name ends in `.gz` is decompressed. No browser decompresses `.zst`, so reading
 * such a file fails.
 */
export function sourceOfBlob(file: Blob & { readonly name: string }): Source {
  const { compression } = formatOfName(file.name);
  let bytesRead = 0;
  const counted = (signal: AbortSignal): ReadableStream<Uint8Array<ArrayBuffer>> =>
    file.stream().pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(piece, controller) {
          bytesRead += piece.length;
          controller.enqueue(piece);
        },
      }),
      { signal },
    );
  return {
    name: file.name,
    size: file.size,
    get bytesRead() {
      return bytesRead;
    },
    async *pieces(signal) {
      if (compression === 'zstd')
        throw new MalformedFile(null, 'a browser cannot decompress Zstandard: decompress the file first');
      yield* read(
        compression === 'gzip' ? counted(signal).pipeThrough(new DecompressionStream('gzip')) : counted(signal),
        signal,
        compression === 'gzip',
      );
    },
  };
}

async function* read(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  isGzip: boolean,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  let isOpen = true;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isOpen = !done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    isOpen = false;
    signal.throwIfAborted();
    const reason = (error as Error).message;
    throw new MalformedFile(
      null,
      isGzip
        ? `this is not valid gzip data, or the file cannot be read: ${reason}`
        : `the file cannot be read: ${reason}`,
    );
  } finally {
    if (isOpen) await reader.cancel();
  }
}
