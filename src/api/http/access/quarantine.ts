/**
 * A team in quarantine has an event that cannot be projected. The state of the team is unknown until an operator
 * releases it.
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { replyWithError } from '../answers/error-reply.ts';
import { noEffect } from '../answers/http-error.ts';

/** When the team was put into quarantine, in milliseconds of log time; null if it is not in quarantine. */
export type QuarantinedSince = (teamId: string) => number | null;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route also answers teams in quarantine. */
    duringQuarantine?: boolean;
  }
}

/** When a client should ask again, in seconds. An operator takes longer than that. */
const retryAfter = '60';

/** The hook that refuses requests of teams in quarantine. */
export function buildQuarantineCheck(quarantinedSince: QuarantinedSince) {
  return function onRequest(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const since =
      request.routeOptions.config.duringQuarantine === true ? null : quarantinedSince(request.principal.teamId);
    if (since === null) {
      done();
      return;
    }
    const message =
      `The service could not process an event of the team. Since ${new Date(since).toISOString()} it refuses the team's requests, ` +
      `and the writes that it had accepted wait. An operator must release the team. ${noEffect}`;
    replyWithError(reply, 'service_unavailable', message, { 'retry-after': retryAfter });
  };
}
