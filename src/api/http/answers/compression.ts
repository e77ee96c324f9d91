/** Compresses answers for clients that accept it (`Accept-Encoding`). */
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib';
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify';
import { varyBy } from './vary.ts';

/** Below this many characters or bytes, compression costs more than it saves. */
const worthwhile = 1_024;

/** The fast levels: they reduce JSON rows by 75 to 80 %, and slow ones gain little more. */
const gzipFast = { level: 1 };
const brotliFast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const zstdFast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Encoders of streamed answers, by encoding. */
const streams: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['zstd', () => createZstdCompress(zstdFast)],
  ['br', () => createBrotliCompress(brotliFast)],
  ['gzip', () => createGzip(gzipFast)],
]);

/** A stream that compresses with an encoding that `chooseEncoding` returned. */
export function compressStream(encoding: string): Transform {
  return streams.get(encoding)!();
}

type Compress = (text: string | Buffer) => Promise<Buffer>;
const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);
const compressZstd = promisify(zstdCompress);

/** Encoders of whole answers. If the client has no preference, the first one is taken, so the cheapest comes first. */
const encodings: ReadonlyMap<string, Compress> = new Map<string, Compress>([
  ['zstd', (text) => compressZstd(text, zstdFast)],
  ['br', (text) => compressBrotli(text, brotliFast)],
  ['gzip', (text) => compressGzip(text, gzipFast)],
]);

/** Compresses a text with an encoding that `chooseEncoding` returned. */
export function compress(encoding: string, text: string | Buffer): Promise<Buffer> {
  return encodings.get(encoding)!(text);
}

/** Hook: compresses texts and buffers. Streams, and payloads that have an encoding, pass unchanged. */
export function compressReply(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
  if (!isText || payload.length < worthwhile || reply.hasHeader('content-encoding')) {
    done();
    return;
  }
  void varyBy(reply, 'Accept-Encoding');
  const encoding = chooseEncoding(request.raw.headers['accept-encoding']);
  if (encoding === null || request.method === 'HEAD') {
    done();
    return;
  }
  compress(encoding, payload).then((compressed) => {
    void reply.header('content-encoding', encoding);
    // The type allows errors only; Fastify takes the new payload as the second argument.
    (done as (error: null, payload: Buffer) => void)(null, compressed);
  }, done);
}

/**
 * The supported encoding that the client prefers; null to send the text uncompressed. `@fastify/accept-negotiator` is
 * not enough: it takes `*` as our first encoding, even if the client has refused that one (RFC 9110, section 12.5.3).
 */
export function chooseEncoding(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const weights = new Map<string, number>();
  for (const item of String(header).toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, quality === undefined ? 1 : Number(quality.slice(2)) || 0);
  }
  let best: string | null = null;
  let bestWeight = 0;
  for (const encoding of encodings.keys()) {
    const weight = weights.get(encoding) ?? weights.get('*') ?? 0;
    if (weight > bestWeight) [best, bestWeight] = [encoding, weight];
  }
  return best;
}
