/** Answers with what the query engine says. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageBytesAtMost } from '../../../projections/tables/pages.queries.ts';
import { EngineGone, EngineRefusal, type QueryEngine } from '../../query/query-engine.ts';
import type { QueryRequest } from '../../query/protocol.ts';
import { ClientGone } from '../bodies/request-body.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import type { Shares } from '../limits/shares.ts';
import { readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { HttpError, isErrorType } from './http-error.ts';

export interface QueryDependencies {
  readonly engine: QueryEngine;
  readonly shares: Pick<Shares, 'queries' | 'outgoingBytes'>;
}

/** Asks the engine within the shares of the team, and answers. Throws HttpError. */
export async function answerQuery(
  { engine, shares }: QueryDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Omit<QueryRequest, 'teamId' | 'appId' | 'tableId'>,
): Promise<FastifyReply> {
  const { teamId, appId } = request.principal;
  const has = request.method === 'GET' ? readIfNoneMatch(request) : () => false;
  const tableId = tableIdOf(request);
  const outgoing = await takeOutgoing(shares.outgoingBytes, teamId, pageBytesAtMost(asked.limit), reply);
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  reply.raw.once('close', leave);
  try {
    const { body, version, count, isCold } = await shares.queries.run(teamId, () => engine.ask({ teamId, appId, tableId, ...asked }, gone.signal));
    if (has(version)) return replyNotModified(reply, version);
    outgoing.shrink(body.length);
    if (count !== null) reply.header('tablog-count', count);
    return setVersion(reply, version).header('tablog-cache', isCold ? 'cold' : 'warm').type('application/json; charset=utf-8').send(body);
  } catch (error) {
    throw gone.signal.aborted ? new ClientGone('it was answered') : toHttpError(error);
  } finally {
    reply.raw.off('close', leave);
  }
}

function toHttpError(error: unknown): unknown {
  const again = { 'retry-after': '1' };
  if (error instanceof EngineRefusal) {
    const type = isErrorType(error.type) ? error.type : 'internal_error';
    return new HttpError(type, error.message, type === 'service_unavailable' ? again : {}, { cause: error });
  }
  if (error instanceof EngineGone) return new HttpError('service_unavailable', `${error.message} Ask again.`, again, { cause: error });
  return error;
}
