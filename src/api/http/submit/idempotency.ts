import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseOrRefuse } from '../requests/validation.ts';

/** The header `Idempotency-Key`. */
export const idempotencyKey = z.string().regex(/^[\x20-\x7e]{1,256}$/, 'must be 1 to 256 printable ASCII characters');

/** The request's key, if it has one. Throws HttpError for a malformed one. */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const value = request.raw.headers['idempotency-key'];
  return value === undefined ? undefined : parseOrRefuse(idempotencyKey, value, 'Idempotency-Key');
}
