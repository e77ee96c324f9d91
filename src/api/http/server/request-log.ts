import { LogController, type FastifyReply, type FastifyRequest } from 'fastify';
import type { TeamActivity } from '../../usage/team-activity.ts';
import type { RequestObserver } from './request-observer.ts';

/**
 * Reports every request to the observer and counts it for its team. If enabled, logs one line per answer, without the
 * query, which may contain a signature. Also logs the errors that Fastify finds in answers.
 */
export class RequestLog extends LogController {
  readonly #enabled: boolean;
  readonly #observer: RequestObserver;
  readonly #activity: Pick<TeamActivity, 'requestEnded'> | null;

  constructor(enabled: boolean, observer: RequestObserver, activity: Pick<TeamActivity, 'requestEnded'> | null) {
    super();
    this.#enabled = enabled;
    this.#observer = observer;
    this.#activity = activity;
  }

  override incomingRequest(request: FastifyRequest, reply: FastifyReply): void {
    this.#observer.began();
    // Every answer emits `close`, even one that never completes because the client did not wait for it.
    reply.raw.on('close', () => this.#ended(request, reply));
  }

  #ended(request: FastifyRequest, reply: FastifyReply): void {
    const { statusCode, elapsedTime } = reply;
    const isComplete = reply.raw.writableFinished;
    this.#observer.ended(request.method, routeOf(request), isComplete ? statusCode : null, elapsedTime);
    this.#activity?.requestEnded(teamOf(request), isComplete ? statusCode : null, request.raw.socket);
    if (!this.#enabled) return;
    const details = {
      ...describeRequest(request),
      status: statusCode,
      durationMs: Math.round(elapsedTime * 1000) / 1000,
    };
    request.log.info(details, isComplete ? 'request answered' : 'request cut off');
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest): void {
    if (error) this.#warn(error, request, 'could not send an answer');
  }

  override streamError(error: Error & { code?: string }, request: FastifyRequest): void {
    // A disconnected client is logged as a request that was cut off.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') this.#warn(error, request, 'an answer broke off before its end');
  }

  override writeHeadError(error: Error, request: FastifyRequest): void {
    this.#warn(error, request, 'an answer has a header that cannot be sent');
  }

  override serializerError(error: Error, request: FastifyRequest): void {
    this.#warn(error, request, 'an answer cannot be serialized');
  }

  override defaultErrorLog(error: Error, request: FastifyRequest): void {
    this.#warn(error, request, 'could not answer an error in the format of the interface');
  }

  #warn(error: Error, request: FastifyRequest, message: string): void {
    request.log.warn({ ...describeRequest(request), err: error }, message);
  }
}

/** The fields of log lines that identify a request. The team is known after the look-up of the token. */
interface RequestDetails {
  readonly requestId: string;
  readonly teamId: string | undefined;
  readonly method: string;
  readonly path: string;
}

export function describeRequest(request: FastifyRequest): RequestDetails {
  return { requestId: request.id, teamId: teamOf(request) ?? undefined, method: request.method, path: pathOf(request) };
}

/** The team of the request; null without a valid token. */
function teamOf(request: FastifyRequest): string | null {
  const { principal } = request as Partial<Pick<FastifyRequest, 'principal'>>;
  return principal?.teamId ?? null;
}

/** The path without the query. */
function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0]!;
}

function routeOf(request: FastifyRequest): string | null {
  return request.is404 ? null : request.routeOptions.url!;
}
