/** Compresses texts or bytes: with zstd if Node, Deno or Bun have it, otherwise with gzip, which every browser has. */

type Zlib = {
  readonly constants: { readonly ZSTD_c_compressionLevel: number };
  readonly zstdCompress?: (
    body: string | Uint8Array<ArrayBuffer>,
    options: object,
    done: (error: Error | null, bytes: Uint8Array<ArrayBuffer>) => void,
  ) => void;
};

const { process } = globalThis as { readonly process?: { readonly getBuiltinModule?: (name: 'node:zlib') => Zlib } };
const zlib = process?.getBuiltinModule?.('node:zlib');
const zstd = zlib?.zstdCompress;

/** The `Content-Encoding` of the output of `compress`. */
export const compression = zstd === undefined ? 'gzip' : 'zstd';

export async function compress(body: string | Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (zstd === undefined) {
    return new Uint8Array(
      await new Response(new Blob([body]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer(),
    );
  }
  // The fast level saves most of the bytes, and pays even if the service runs on the same machine.
  const options = { params: { [zlib!.constants.ZSTD_c_compressionLevel]: 1 } };
  return new Promise((resolve, reject) => {
    zstd(body, options, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  });
}
