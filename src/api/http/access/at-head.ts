/**
 * During an upgrade, processes of another version acknowledge writes from a read model of their own. A request that is
 * answered here must see them: first this read model gets what the log has (docs/decisions/0044).
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';

/**
 * Resolves when the read model has all that was acknowledged to a team, or to all (null); null: it has, for no other
 * read model is in use.
 */
export type ReachHead = (teamId: string | null) => Promise<void> | null;

/**
 * The hook that lets a request wait for what others have acknowledged. Costs nothing while there is no other read
 * model.
 */
export function buildHeadCheck(reachHead: ReachHead) {
  return function onRequest(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const reaching = reachHead(request.routeOptions.config.forOperators === true ? null : request.principal.teamId);
    if (reaching === null) done();
    else reaching.then(() => done(), done);
  };
}
