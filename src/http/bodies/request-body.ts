/**
 * Request bodies as streams of bytes, decompressed and bounded. Fastify hands the body over unread, so a body is read
 * where it is used: whole with `collectBody`, or piece by piece, with back pressure, with `bodyChunks`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../answers/http-error.ts';

/** The client went away in the middle of its body: there is nobody to answer. */
export class ClientGone extends HttpError {
  override readonly name = 'ClientGone';

  constructor() {
    super('request_validation_error', 'The client went away before its body was complete.');
  }
}

/** How long the rest of a refused body is read and dropped, so that the client gets to see the answer. */
const lingerMs = 1_000;

/** Zstandard allows windows of gigabytes; HTTP allows 8 MiB (RFC 9659). */
const zstdWindowLogMax = 23;
const chunkSize = 64 * 1024;

const decoders = {
  'gzip': () => createGunzip({ chunkSize }),
  'x-gzip': () => createGunzip({ chunkSize }),
  'br': () => createBrotliDecompress({ chunkSize }),
  'zstd': () => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLogMax } }),
} as const;
type Encoding = keyof typeof decoders;

/** What was found wrong with a body by the parser of the connection, which knows before its reader does. */
const faults = new WeakMap<IncomingMessage, HttpError>();
const faultEvent = 'body-fault';

/** Bodies that the client sends only once it is told to (`Expect: 100-continue`), and how to tell it. */
const awaitingContinue = new WeakMap<IncomingMessage, () => void>();

/** Ends the body of a request with an error, for whoever reads it now or later. */
export function failBody(raw: IncomingMessage, error: HttpError): void {
  faults.set(raw, error);
  raw.emit(faultEvent);
}

/**
 * Tells the client to send its body when the body is first read, not before, so that a refusal comes instead of it.
 * Answered without it, the connection closes: the client may or may not send the body then.
 */
export function deferContinue(raw: IncomingMessage, response: ServerResponse): void {
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  awaitingContinue.set(raw, () => {
    response.shouldKeepAlive = shouldKeepAlive;
    response.writeContinue();
  });
}

/**
 * Reads and drops what is left of a body once its request has been answered, for a short while; then the connection is
 * cut. Closing it at once would reset it, and the client might never see the answer.
 */
export function discardBody(raw: IncomingMessage, response: ServerResponse): void {
  // Only a body that is still on its way has `complete` false; requests without one are complete by now or in a moment.
  if (raw.complete !== false || !hasBody(raw)) return;
  response.once('finish', () => {
    raw.resume();
    const timer = setTimeout(() => raw.destroy(), lingerMs).unref();
    raw.once('close', () => clearTimeout(timer));
  });
}

/**
 * The whole body. Throws HttpError: `payload_too_large` over `maxBytes` (counted after decompression), or
 * `request_validation_error` for a body that is cut short or does not inflate; ClientGone when nobody waits any more.
 */
export async function collectBody(request: FastifyRequest, maxBytes: number): Promise<Buffer> {
  const { raw } = request;
  if (encodingOf(raw) !== null) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of bodyChunks(request, maxBytes)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  beginReading(raw, maxBytes);
  return collectPlain(raw, maxBytes);
}

/** The body piece by piece: nothing is read ahead of what is asked for. Throws as `collectBody` does. */
export async function* bodyChunks(request: FastifyRequest, maxBytes: number): AsyncGenerator<Buffer, void, undefined> {
  const { raw } = request;
  const encoding = encodingOf(raw);
  beginReading(raw, maxBytes);
  const plain = bounded(rawChunks(raw), maxBytes);
  yield* encoding === null ? plain : bounded(decoded(plain, encoding), maxBytes);
}

/** Refuses what can be refused without reading, and asks for the body if the client waits for that. */
function beginReading(raw: IncomingMessage, maxBytes: number): void {
  if (Number(raw.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (raw.readableEnded) throw new Error('this body has been read already');
  throwIfFailed(raw);
  if (raw.headers.expect === undefined) return;
  awaitingContinue.get(raw)?.();
  awaitingContinue.delete(raw);
}

/** The hot path: with plain listeners it costs what Fastify's own parser does. */
function collectPlain(raw: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    function fail(error: HttpError): void {
      raw.off('data', onData);
      raw.pause();
      reject(error);
    }
    function onClose(): void {
      // Every request closes in the end; an error made for nothing, with its stack, would cost more than all the rest.
      if (!raw.readableEnded) reject(new ClientGone());
    }
    function onData(chunk: Buffer): void {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        fail(tooLarge(maxBytes));
        return;
      }
      chunks.push(chunk);
    }
    raw.on('data', onData);
    raw.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    raw.on('close', onClose);
    raw.on(faultEvent, () => fail(faults.get(raw)!));
  });
}

/** The body as it came over the wire. */
async function* rawChunks(raw: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  let wake = (): void => {};
  const onChange = (): void => wake();
  const events = ['readable', 'end', 'close', faultEvent];
  for (const event of events) raw.on(event, onChange);
  try {
    while (!raw.readableEnded) {
      throwIfFailed(raw);
      const chunk = raw.read() as Buffer | null;
      if (chunk !== null) yield chunk;
      else if (!raw.readableEnded) await new Promise<void>((resolve) => { wake = resolve; });
    }
  } finally {
    for (const event of events) raw.off(event, onChange);
  }
}

function throwIfFailed(raw: IncomingMessage): void {
  const fault = faults.get(raw);
  if (fault !== undefined) throw fault;
  if (raw.destroyed) throw new ClientGone();
}

/** The same chunks, until they are too many. */
async function* bounded(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

/** What the chunks hold once they are decompressed: all of them, or an error. */
async function* decoded(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer, void, undefined> {
  const decoder = decoders[encoding]();
  let bytesRead = 0;
  async function* counted(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of chunks) {
      bytesRead += chunk.length;
      yield chunk;
    }
  }
  // Whatever fails is thrown to the loop below by the decoder, so the callback has nothing to do.
  pipeline(counted, decoder, () => {});
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError('request_validation_error', `Content-Encoding: the body is not valid ${encoding}.`);
  }
  // Brotli and Zstandard decoders stop at the end of their first frame and say nothing of what follows.
  if (decoder.bytesWritten !== bytesRead) {
    throw new HttpError('request_validation_error', `Content-Encoding: something follows the ${encoding} data.`);
  }
}

/** How the body is compressed; null if it is not. */
function encodingOf(raw: IncomingMessage): Encoding | null {
  const header = raw.headers['content-encoding'];
  if (header === undefined) return null;
  const encoding = header.trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return null;
  if (Object.hasOwn(decoders, encoding)) return encoding as Encoding;
  throw new HttpError('request_validation_error', 'Content-Encoding: gzip, br and zstd are accepted, one at a time.');
}

/** Whether the request says of itself that its body has at most so many bytes. What a compressed one holds is not known. */
export function isBodyWithin(bytes: number, { headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= bytes
    && headers['content-encoding'] === undefined;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
}
