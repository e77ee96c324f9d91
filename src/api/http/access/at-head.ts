/**
 * During an upgrade, processes of another version acknowledge writes from a read model of their own. A request that is
 * answered here must see these writes, so this read model first catches up with the log (docs/decisions/0044).
 */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';

/**
 * Resolves when this read model has every write that any process has acknowledged to the team (null: to any team).
 * Returns null at once if no other read model is in use.
 */
export type ReachHead = (teamId: string | null) => Promise<void> | null;

/**
 * The hook that delays a request until this read model has every acknowledged write. Costs nothing while no other read
 * model is in use.
 */
export function buildHeadCheck(reachHead: ReachHead) {
  return function onRequest(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const reaching = reachHead(request.routeOptions.config.forOperators === true ? null : request.principal.teamId);
    if (reaching === null) done();
    else reaching.then(() => done(), done);
  };
}
