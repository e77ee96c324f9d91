/**
 * The errors of the interface (spec section 7, decisions section 1): the one place that turns exceptions into answers.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseAway } from '../../../storage/database/database-away.ts';
import { KeysNotRead } from '../../../storage/security/secret-keys.ts';
import { StoreAway } from '../../../storage/files/file-store.ts';
import { AppendError, NotAppended, type AppendPosition } from '../../../log/event-log.ts';
import { errorTypes, isErrorType, type ErrorType } from './error-types.ts';
import { HttpError, noEffect } from './http-error.ts';
import { ClientGone } from '../bodies/request-body.ts';
import { describeRequest } from '../server/request-log.ts';

/** The body of an error, as JSON text. */
export function errorBody(type: ErrorType, message: string): string {
  return JSON.stringify({ error: { type, message } });
}

/** Answers with an error. Hot paths call this for a refusal, to avoid the cost of an exception. */
export function replyWithError(
  reply: FastifyReply,
  type: ErrorType,
  message: string,
  headers?: Readonly<Record<string, string>>,
): FastifyReply {
  const { status, isWorthARetry = false } = errorTypes[type];
  // The default, in seconds. `headers` may replace it.
  if (isWorthARetry) void reply.header('retry-after', '1');
  if (headers !== undefined) void reply.headers(headers);
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('request-id', reply.request.id)
    .send(errorBody(type, message));
}

/** Handles all exceptions of routes and hooks. */
export function buildErrorHandler(log: FastifyBaseLogger) {
  return function handleError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (error instanceof ClientGone) {
      log.debug(describeRequest(request), error.message);
    }
    const known = toHttpError(error);
    if (known !== null) {
      if (known.type === 'service_unavailable' || known.type === 'outcome_unknown') {
        log.warn(describeFailure(error, request), known.message);
      }
      replyWithError(reply, known.type, known.message, known.headers);
      return;
    }
    log.error(describeFailure(error, request), 'a request failed');
    replyWithError(
      reply,
      'internal_error',
      `The service failed. Its log has the details under ${request.id}: tell this ID to the operator.`,
    );
  };
}

/** The fields of a log line for an error: the request, the place in the event log if known, and the error. */
function describeFailure(error: unknown, request: FastifyRequest): object {
  const { partition, offset } = placeOf(error);
  return { ...describeRequest(request), partition, offset: offset?.toString(), err: error };
}

function placeOf(error: unknown): AppendPosition {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof AppendError && one.place.partition !== undefined) return one.place;
  }
  return {};
}

/** Whether a request that fails with this error before the append is answered with 503 `service_unavailable`. */
export function isUnavailable(error: unknown): boolean {
  return errorTypeOf(error) === 'service_unavailable';
}

/** The type of the answer to a request that fails with this error; null for a bug. */
export function errorTypeOf(error: unknown): ErrorType | null {
  return toHttpError(error)?.type ?? null;
}

/** The error as the client sees it; null for a bug. */
function toHttpError(error: unknown): HttpError | null {
  if (error instanceof HttpError) return error;
  if (!(error instanceof Error)) return null;
  const { type, code } = error as Error & { type?: unknown; code?: unknown };
  if (isErrorType(type)) return new HttpError(type, error.message);
  if (error instanceof NotAppended) {
    return new HttpError(
      'service_unavailable',
      `The service is too busy, or a part of it cannot be reached. ${noEffect}`,
    );
  }
  if (error instanceof StoreAway)
    return new HttpError('service_unavailable', `The service cannot reach its store of files. ${noEffect}`);
  if (isDatabaseAway(error) || error instanceof KeysNotRead)
    return new HttpError('service_unavailable', `The service cannot reach its database. ${noEffect}`);
  if (code === 'FST_ERR_VALIDATION') return new HttpError('request_validation_error', error.message);
  return null;
}
