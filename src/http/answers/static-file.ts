/** Files that do not change while the process runs: the documentation and the console. */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chooseEncoding, compress } from './compression.ts';
import { varyBy } from './vary.ts';

export interface StaticFile {
  readonly type: string;
  /** One buffer for all answers: unread ones take no memory of their own. */
  readonly bytes: Buffer;
  /** A hash of them, so that all processes agree on it. */
  readonly version: bigint;
  /** Cached by encoding: their routes are public, and compressing takes as long as many writes. */
  readonly compressed: Map<string, Promise<Buffer>>;
}

export function makeFile(type: string, text: string): StaticFile {
  const version = createHash('sha256').update(text).digest().readBigUInt64BE();
  return { type, bytes: Buffer.from(text), version, compressed: new Map() };
}

/** Sends it, compressed if the client accepts that. */
export async function sendFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile): Promise<FastifyReply> {
  void reply.headers({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }).type(file.type);
  void varyBy(reply, 'Accept-Encoding');
  const encoding = chooseEncoding(request.raw.headers['accept-encoding']);
  if (encoding === null || request.method === 'HEAD') return reply.send(file.bytes);
  return reply.header('content-encoding', encoding).send(await compressOnce(file, encoding));
}

function compressOnce({ bytes, compressed }: StaticFile, encoding: string): Promise<Buffer> {
  const known = compressed.get(encoding) ?? compress(encoding, bytes);
  compressed.set(encoding, known);
  // Failures are not cached.
  known.catch(() => compressed.delete(encoding));
  return known;
}
