import { LogController, type FastifyReply, type FastifyRequest } from 'fastify';

/** What the log says of requests: if wanted, one line an answer, without the query, which may hold a signature. */
export class RequestLog extends LogController {
  readonly #enabled: boolean;

  constructor(enabled: boolean) {
    super();
    this.#enabled = enabled;
  }

  override incomingRequest(): void {
    // The line of the answer says it all.
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    if (!this.#enabled) return;
    const { id: requestId, method } = request;
    const ms = Math.round(reply.elapsedTime);
    const details = { requestId, method, path: pathOf(request), status: reply.statusCode, ms };
    if (error) request.log.info({ ...details, err: error }, 'request cut off');
    else request.log.info(details, 'request answered');
  }
}

/** The path without the query. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0]!;
}
