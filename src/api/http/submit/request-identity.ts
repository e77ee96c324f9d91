/**
 * The ID of a command, and the digest of its request. A repetition with the same Idempotency-Key gets the same ID, so
 * that it is executed only once.
 */
import { createHash, randomUUIDv7, type Hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { commandIdOf } from '../../../language/events/command-id.ts';
import type { JobNote } from '../../jobs/job-notes.ts';
import { bodyChunks } from '../bodies/request-body.ts';
import { noTable, tableIdOf } from '../requests/table-path.ts';
import { turnedAwayOf, type TurnedAway } from './turned-away.ts';
import { z } from 'zod';
import { parseOrRefuse } from '../requests/validation.ts';

/** The header `Idempotency-Key`. */
export const idempotencyKey = z.string().regex(/^[\x20-\x7e]{1,256}$/, 'must be 1 to 256 printable ASCII characters');

/** The request's key, if it has one. Throws HttpError for a malformed one. */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const value = request.raw.headers['idempotency-key'];
  return value === undefined ? undefined : parseOrRefuse(idempotencyKey, value, 'Idempotency-Key');
}

/** Identifies a command, and the request behind it. */
export interface RequestIdentity {
  readonly commandId: string;
  /**
   * With an Idempotency-Key: a running hash of the request and its body. It distinguishes the request from other
   * requests with the same key.
   */
  readonly digest: Hash | null;
  /**
   * Returns why the request is to be turned away, as far as it is known at the time of the call. Absent: it is not
   * turned away.
   */
  readonly turnedAway?: () => TurnedAway | null;
  /** The entry for `GET /jobs`. Absent: the command is not listed there. */
  readonly about?: Pick<JobNote, 'operation' | 'appId' | 'tableId'>;
}

/**
 * The identity of a request: random or, with an Idempotency-Key, the same for each try (docs/spec/decisions.md 1 and
 * 6).
 */
export function identify(request: FastifyRequest): RequestIdentity {
  const key = readIdempotencyKey(request);
  const about = aboutOf(request);
  if (key === undefined) return { commandId: randomUUIDv7(), digest: null, about };
  const { method, url, headers } = request.raw;
  const path = url!.split('?', 1)[0]!;
  const { teamId, appId } = request.principal;
  // Each app has its own keys, because its token must not see the answers that others got.
  const commandId = commandIdOf(teamId, method!, path, key, ...(appId === null ? [] : [appId]));
  const digest = createHash('sha256').update(
    JSON.stringify([url, headers['content-type'], headers['if-match'], headers['x-service-asynchronous']]),
  );
  return { commandId, digest, about, turnedAway: () => turnedAwayOf(request.raw) };
}

function aboutOf(request: FastifyRequest): NonNullable<RequestIdentity['about']> {
  const { operation } = request.routeOptions.config;
  const tableId = 'tableID' in (request.params as object) ? tableIdOf(request) : noTable;
  return {
    operation: operation!.operationId,
    appId: request.principal.appId,
    tableId: tableId === noTable ? null : tableId,
  };
}

/**
 * Like `identify`, for a request that needs no body. If the request has a body and a key, the body is read only for its
 * hash: another body makes another request. Throws HttpError as `bodyChunks` does.
 */
export async function identifyWithBody(request: FastifyRequest, bodyBytesMax: number): Promise<RequestIdentity> {
  const identity = identify(request);
  if (identity.digest === null) return identity;
  for await (const chunk of bodyChunks(request, bodyBytesMax)) identity.digest.update(chunk);
  return identity;
}
