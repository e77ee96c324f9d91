/**
 * Request bodies as streams of bytes, decompressed and limited. Fastify leaves bodies unread, so each is read where it
 * is used: whole with `collectBody`, or in chunks, with backpressure, with `bodyChunks`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { decompress } from '../../decompress.ts';
import { HttpError } from '../answers/http-error.ts';
import { paceOf } from './body-pace.ts';

/** The client disconnected before its request was complete, or before it was answered. Nobody gets the answer. */
export class ClientGone extends HttpError {
  override readonly name = 'ClientGone';

  constructor(before = 'its body was complete') {
    super('request_validation_error', `The client went away before ${before}.`);
  }
}

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

/** Errors that the HTTP parser found in a body before the body's reader came to them. */
const faults = new WeakMap<IncomingMessage, HttpError>();
const faultEvent = 'body-fault';

/** The events that a reader of a body waits for. */
const changes = ['readable', 'end', 'close', faultEvent];

/** Bodies that the client sends only after 100 Continue, with the callback that sends it. */
const awaitingContinue = new WeakMap<IncomingMessage, () => void>();

/** Bodies that `untilArrived` has waited for. An empty body ends while it is awaited, before it is read. */
const awaited = new WeakSet<IncomingMessage>();

/** Callbacks that get the number of bytes of each part of a body. */
const observers = new WeakMap<IncomingMessage, (bytes: number) => void>();

/**
 * Calls `onBytes` with the length of each part of a body that is read, before decompression. If `onBytes` throws,
 * reading fails with that error.
 */
export function observeBody(raw: IncomingMessage, onBytes: (bytes: number) => void): void {
  observers.set(raw, onBytes);
}

/** Above this size a body is large. The service stores smaller ones however full the disk is. */
export const largeBodyBytes = 64 * 1024;

/** Guards of bodies of unknown length. A guard must resolve before its body grows beyond `largeBodyBytes`. */
const guards = new WeakMap<IncomingMessage, () => Promise<void>>();

/**
 * Lets a body of unknown length grow large only once the guard has resolved. If the guard rejects, so does the reader
 * of the body.
 */
export function guardLargeBody(raw: IncomingMessage, guard: () => Promise<void>): void {
  guards.set(raw, guard);
}

/** Fails the body of a request, for its current or later reader. */
export function failBody(raw: IncomingMessage, error: HttpError): void {
  faults.set(raw, error);
  raw.emit(faultEvent);
}

/**
 * Sends 100 Continue when the body is first read, so that a refusal can come before it. If the request is answered
 * without reading the body, the connection closes, because the client may or may not send the body.
 */
export function deferContinue(raw: IncomingMessage, response: ServerResponse): void {
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  awaitingContinue.set(raw, () => {
    response.shouldKeepAlive = shouldKeepAlive;
    writeContinueInTurn(response);
  });
}

/**
 * Sends 100 Continue after the answers to earlier requests on the connection. It is skipped if the answer to this
 * request has started by then. (Node would keep both, and send the 100 after the head of the answer, as a part of its
 * body.)
 */
function writeContinueInTurn(response: ServerResponse): void {
  if (response.socket !== null) {
    response.writeContinue();
    return;
  }
  response.once('socket', () => {
    if (!response.headersSent) response.writeContinue();
  });
}

/**
 * Whether the service does not wait for the rest of a body after the answer: it never asked the client for the body, or
 * the body came too slowly.
 */
export function isGivenUp(raw: IncomingMessage): boolean {
  return awaitingContinue.has(raw) || faults.get(raw)?.type === 'request_timeout';
}

/**
 * The whole body. Throws HttpError: `payload_too_large` over `maxBytes` (also after decompression),
 * `request_validation_error` for a body that is truncated or cannot be decompressed, or `request_timeout` for one that
 * arrives too slowly; ClientGone if the client disconnected.
 */
export async function collectBody(request: FastifyRequest, maxBytes: number): Promise<Buffer> {
  const { raw } = request;
  if (encodingOf(raw) !== null || guards.has(raw)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of bodyChunks(request, maxBytes)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  beginReading(raw, maxBytes);
  return raw.readableEnded ? Buffer.alloc(0) : collectPlain(raw, maxBytes);
}

/**
 * Resolves when the body is whole, when its stream has buffered as much as it can (64 KiB), or when the body has
 * failed; its reader then gets the error. Throws as `collectBody` does for a body that can be refused unread.
 */
export async function untilArrived({ raw }: Pick<FastifyRequest, 'raw'>, maxBytes: number): Promise<void> {
  beginReading(raw, maxBytes);
  const hasArrived = (): boolean =>
    raw.complete || raw.destroyed || faults.has(raw) || raw.readableLength >= raw.readableHighWaterMark;
  if (hasArrived()) return;
  awaited.add(raw);
  const pace = paceOf(raw);
  let seen = raw.readableLength;
  pace?.arrived(seen);
  await new Promise<void>((resolve) => {
    function onChange(): void {
      pace?.arrived(raw.readableLength - seen);
      seen = raw.readableLength;
      if (!hasArrived()) return;
      pace?.stop();
      for (const event of changes) raw.off(event, onChange);
      resolve();
    }
    pace?.wait();
    for (const event of changes) raw.on(event, onChange);
  });
}

/** The body in chunks, with backpressure. Throws as `collectBody` does. */
export async function* bodyChunks(request: FastifyRequest, maxBytes: number): AsyncGenerator<Buffer, void, undefined> {
  const { raw } = request;
  const encoding = encodingOf(raw);
  beginReading(raw, maxBytes);
  const plain = bounded(rawChunks(raw), maxBytes);
  const whole = encoding === null ? plain : bounded(decoded(plain, encoding), maxBytes);
  const guard = guards.get(raw);
  yield* guard === undefined ? whole : guarded(whole, guard);
}

/** Refuses a body that can be refused unread. Sends 100 Continue if the client waits for it. */
function beginReading(raw: IncomingMessage, maxBytes: number): void {
  if (Number(raw.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (raw.readableEnded) {
    if (awaited.has(raw)) return;
    throw new Error('this body has been read already');
  }
  throwIfFailed(raw);
  if (raw.headers.expect === undefined) return;
  awaitingContinue.get(raw)?.();
  awaitingContinue.delete(raw);
}

/** The hot path: with plain listeners it costs no more than Fastify's own parser. */
function collectPlain(raw: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const pace = paceOf(raw);
    function fail(error: HttpError): void {
      pace?.stop();
      raw.off('data', onData);
      raw.pause();
      reject(error);
    }
    function onClose(): void {
      pace?.stop();
      // Every request closes in the end, and an error with its stack would cost more than all the rest: create one only
      // if the body is incomplete.
      if (!raw.readableEnded) reject(new ClientGone());
    }
    const observe = observers.get(raw);
    function onData(chunk: Buffer): void {
      try {
        observe?.(chunk.length);
      } catch (error) {
        fail(error as HttpError);
        return;
      }
      bytes += chunk.length;
      if (bytes > maxBytes) {
        fail(tooLarge(maxBytes));
        return;
      }
      pace?.read(chunk.length);
      chunks.push(chunk);
    }
    function onEnd(): void {
      pace?.stop();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    }
    if (!raw.complete) pace?.wait();
    raw.on('data', onData);
    raw.on('end', onEnd);
    raw.on('close', onClose);
    raw.on(faultEvent, () => fail(faults.get(raw)!));
  });
}

/** The body as received, still compressed. */
async function* rawChunks(raw: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  let wake = (): void => {};
  const observe = observers.get(raw);
  const pace = paceOf(raw);
  const onChange = (): void => wake();
  for (const event of changes) raw.on(event, onChange);
  try {
    while (!raw.readableEnded) {
      throwIfFailed(raw);
      const chunk = raw.read() as Buffer | null;
      if (chunk !== null) {
        observe?.(chunk.length);
        pace?.read(chunk.length);
        yield chunk;
      } else if (!raw.readableEnded) {
        pace?.wait();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        pace?.stop();
      }
    }
  } finally {
    for (const event of changes) raw.off(event, onChange);
  }
}

function throwIfFailed(raw: IncomingMessage): void {
  const fault = faults.get(raw);
  if (fault !== undefined) throw fault;
  if (raw.destroyed) throw new ClientGone();
}

/** Passes the chunks on; throws when they exceed the limit. */
async function* bounded(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

/** Passes the chunks on. The chunk that makes the body large waits for the guard. */
async function* guarded(
  chunks: AsyncIterable<Buffer>,
  guard: () => Promise<void>,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  for await (const chunk of chunks) {
    const wasLarge = bytes > largeBodyBytes;
    bytes += chunk.length;
    if (!wasLarge && bytes > largeBodyBytes) await guard();
    yield chunk;
  }
}

function decoded(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncIterable<Buffer> {
  return decompress(chunks, decoders[encoding](), (error) => {
    const problem = error === null ? `something follows the ${encoding} data` : `the body is not valid ${encoding}`;
    return new HttpError('request_validation_error', `Content-Encoding: ${problem}.`);
  });
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

/** Whether the headers limit the body to this many bytes. The size of a compressed body is unknown. */
export function isBodyWithin(bytes: number, { headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length'] ?? 0) <= bytes &&
    headers['content-encoding'] === undefined
  );
}

/** Whether a body follows the headers. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
}
