/**
 * From a command to its outcome: the event is appended, and the answer waits for what becomes of this command
 * (ARCHITECTURE.md, "Invariants").
 */
import { createHash, randomUUIDv7, type Hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { encodeEvent, RecordTooLarge, type PackedBody } from '../events/event-codec.ts';
import type { EventData } from '../events/event.ts';
import type { AppliedResult } from '../events/outcome.ts';
import type { EventLog } from '../log/event-log.ts';
import { partitionOf } from '../log/partition.ts';
import { HttpError } from './http-error.ts';
import { readIdempotencyKey } from './idempotency.ts';

/** For how long after it was made an event may take effect, in milliseconds of log time (decisions 1). */
const notAfterDelay = 60_000;

/** Who asks for a command, and how it is told from others. */
export interface RequestIdentity {
  readonly commandId: string;
  /** With an Idempotency-Key: takes in the body, and in the end tells this request from others under the same key. */
  readonly digest: Hash | null;
}

/** What a command came to. */
export interface Applied {
  readonly result: AppliedResult;
  /** The version for the answer's ETag; 0 where there is none. */
  readonly etag: bigint;
}

/** The identity of a request: made anew, or, with an Idempotency-Key, the same for each try (decisions 1 and 6). */
export function identify(request: FastifyRequest): RequestIdentity {
  const key = readIdempotencyKey(request);
  if (key === undefined) return { commandId: randomUUIDv7(), digest: null };
  const { method, url, headers } = request.raw;
  const path = url!.split('?', 1)[0]!;
  const hash = createHash('sha256').update(JSON.stringify([request.principal.teamId, method, path, key])).digest('hex');
  const commandId = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-${hash.slice(12, 16)}-${hash.slice(16, 20)}-${hash.slice(20, 32)}`;
  const digest = createHash('sha256').update(
    JSON.stringify([url, headers['content-type'], headers['if-match'], headers['x-service-asynchronous']]),
  );
  return { commandId, digest };
}

/** Appends a command's event and gives what it came to. Throws HttpError when it is refused, and the log's errors. */
export async function submit(
  log: EventLog,
  teamId: string,
  { commandId, digest }: RequestIdentity,
  data: EventData,
  body?: PackedBody,
): Promise<Applied> {
  const requestDigest = digest === null ? null : digest.digest('base64url');
  const envelope = { commandId, notAfter: log.now() + notAfterDelay, requestDigest };
  const outcome = await log.append(partitionOf(teamId, log.partitions), encode(envelope, data, body));
  if (requestDigest !== null && outcome.requestDigest !== requestDigest) {
    throw new HttpError('idempotency_key_reused', 'Idempotency-Key: it was used for another request.');
  }
  if (outcome.status === 'refused') throw new HttpError(outcome.refusal.type, outcome.refusal.message);
  return { result: outcome.result, etag: outcome.etag ?? 0n };
}

function encode(...args: Parameters<typeof encodeEvent>): ReturnType<typeof encodeEvent> {
  try {
    return encodeEvent(...args);
  } catch (error) {
    if (!(error instanceof RecordTooLarge)) throw error;
    throw new HttpError('limit_exceeded', 'The request names too many columns, or too long ones, to be recorded.');
  }
}
