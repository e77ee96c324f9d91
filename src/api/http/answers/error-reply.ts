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

/** Answers with an error. For refusals on hot paths, which avoid the cost of an exception. */
export function replyWithError(
  reply: FastifyReply,
  type: ErrorType,
  message: string,
  headers?: Readonly<Record<string, string>>,
): FastifyReply {
  const { status, isWorthARetry = false } = errorTypes[type];
  // In seconds, unless the headers say better.
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
    replyWithError(reply, 'internal_error', `Something went wrong here. The log has more under ${request.id}.`);
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

/** Whether a request that fails with this error before its event is appended is answered 503 `service_unavailable`. */
export function isUnavailable(error: unknown): boolean {
  return errorTypeOf(error) === 'service_unavailable';
}

/** The type that a request is answered with when it fails with this error; null for a bug. */
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
    return new HttpError('service_unavailable', `The service is too busy, or part of it is away. ${noEffect}`);
  }
  if (error instanceof StoreAway)
    return new HttpError('service_unavailable', `Files cannot be stored or read now. ${noEffect}`);
  if (isDatabaseAway(error) || error instanceof KeysNotRead)
    return new HttpError('service_unavailable', 'The database is away.');
  if (code === 'FST_ERR_VALIDATION') return new HttpError('request_validation_error', error.message);
  return null;
}
