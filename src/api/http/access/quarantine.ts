/**
 * A team in quarantine: one of its events cannot be projected, so what it has is not known until an operator releases
 * it.
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { replyWithError } from '../answers/error-reply.ts';
import { noEffect } from '../answers/http-error.ts';

/** Since when a team is in quarantine, in milliseconds of log time; null: it is not. */
export type QuarantinedSince = (teamId: string) => number | null;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route also answers teams in quarantine. */
    duringQuarantine?: boolean;
  }
}

/** When a client should ask again, in seconds: an operator takes longer than that. */
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
      `An event of the team could not be processed: since ${new Date(since).toISOString()} its requests are refused, and what was ` +
      `accepted then has to wait. The operator has been told. ${noEffect}`;
    replyWithError(reply, 'service_unavailable', message, { 'retry-after': retryAfter });
  };
}
