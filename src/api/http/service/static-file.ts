/** Files that do not change while the process runs: the documentation and the console. */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FairShares } from '../limits/fair-shares.ts';
import { networkOf } from '../limits/network-of.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import { chooseEncoding, compress } from '../answers/compression.ts';
import { varyBy } from '../answers/vary.ts';

export interface StaticFile {
  readonly type: string;
  /** One buffer for all answers, so that unread answers take no memory of their own. */
  readonly bytes: Buffer;
  /** A hash of the bytes, so that all processes agree on it. */
  readonly version: bigint;
  /**
   * The compressed bytes, by encoding. Cached because the routes are public, and compressing takes as long as many
   * writes.
   */
  readonly compressed: Map<string, Promise<Buffer>>;
}

export function makeFile(type: string, text: string): StaticFile {
  const version = createHash('sha256').update(text).digest().readBigUInt64BE();
  return { type, bytes: Buffer.from(text), version, compressed: new Map() };
}

/**
 * Sends a file, compressed if the client accepts that. Its bytes count for the address of the client until the client
 * has read them. Rejects as `takeOutgoing` does. `outgoingBytes` null: they are not counted.
 */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticFile,
  outgoingBytes: FairShares | null,
): Promise<FastifyReply> {
  void reply.headers({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }).type(file.type);
  void varyBy(reply, 'Accept-Encoding');
  const encoding = chooseEncoding(request.raw.headers['accept-encoding']);
  if (request.method === 'HEAD') return reply.send(file.bytes);
  const bytes = encoding === null ? file.bytes : await compressOnce(file, encoding);
  if (outgoingBytes !== null)
    await takeOutgoing(outgoingBytes, `address ${networkOf(request.ip)}`, bytes.length, reply);
  if (encoding !== null) void reply.header('content-encoding', encoding);
  return reply.send(bytes);
}

function compressOnce({ bytes, compressed }: StaticFile, encoding: string): Promise<Buffer> {
  const known = compressed.get(encoding) ?? compress(encoding, bytes);
  compressed.set(encoding, known);
  // Do not cache failures.
  known.catch(() => compressed.delete(encoding));
  return known;
}
