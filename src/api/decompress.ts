import { pipeline, type Transform } from 'node:stream';

/** A decompressor of node:zlib. */
type Decoder = Transform & { readonly bytesWritten: number };

/**
 * Decompresses pieces: all of them, or an error. What `pieces` throws is thrown as it is. `mistake` makes the error for
 * data that is not as it should be: of the decoder's error, or of null when something follows the data.
 */
export async function* decompress(
  pieces: AsyncIterable<Buffer>,
  decoder: Decoder,
  mistake: (error: NodeJS.ErrnoException | null) => Error,
): AsyncGenerator<Buffer, void, undefined> {
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
  // The decoder rethrows every failure in the loop below, so the callback is empty.
  pipeline(counted, decoder, () => {});
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    throw failure ?? mistake(error as NodeJS.ErrnoException);
  }
  // Brotli and Zstandard decoders silently stop at the end of their first frame.
  if (decoder.bytesWritten !== bytesIn) throw mistake(null);
}
