/** Asks the query engine, and sends its answers. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KeyedRowQueries } from '../../../../projections/tables/keys/keyed-rows.queries.ts';
import { pageBytesAtMost } from '../../../../projections/tables/pages.queries.ts';
import { parseRowId, type RowAddress } from '../../../language/events/row-id.ts';
import { EngineGone, EngineRefusal, type EngineAnswer, type QueryEngine } from '../../query/query-engine.ts';
import type { QueryRequest, SqlRequest } from '../../query/protocol.ts';
import { ClientGone } from '../bodies/request-body.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import type { FairShares } from '../limits/fair-shares.ts';
import type { Shares } from '../limits/shares.ts';
import { invalidContinuation } from '../requests/continuation.ts';
import { isOfQuery } from '../requests/rows-query.ts';
import { readIfNoneMatch, replyNotModified } from '../requests/versions.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { isErrorType, type ErrorType } from './error-types.ts';
import { HttpError } from './http-error.ts';
import { askedValues } from './key-look-up.ts';
import { mediaTypes, rowsFormatOf, sendRowsPage } from './rows-page.ts';

/** Maximum of bytes of an answer to SQL, including its columns and versions. */
const sqlBytesMax = 17 * 1024 * 1024;

/** The errors of operations that may ask the engine about one table. */
export const queryErrors: readonly ErrorType[] = [
  'payment_required',
  'table_not_found',
  'limit_exceeded',
  'query_timeout',
  'column_id_not_found',
  'column_has_invalid_value',
];

export interface QueryDependencies {
  readonly engine: QueryEngine;
  readonly keyedRows: KeyedRowQueries;
  readonly shares: Pick<Shares, 'queries' | 'sql' | 'outgoingBytes'>;
}

/**
 * Asks the engine within the shares of the team, and answers. A filter by the key of a table is answered without the
 * engine. Throws HttpError.
 */
export async function answerQuery(
  { engine, keyedRows, shares }: QueryDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Omit<QueryRequest, 'teamId' | 'appId' | 'tableId' | 'format'>,
): Promise<FastifyReply> {
  const { teamId, appId } = request.principal;
  const has = request.method === 'GET' ? readIfNoneMatch(request) : () => false;
  const tableId = tableIdOf(request);
  if (asked.continuation !== null && !isOfQuery(asked.continuation))
    throw invalidContinuation(asked.prefix, 'this query');
  const format = rowsFormatOf(reply);
  const values = asked.continuation === null && appId === null ? askedValues(asked.query) : null;
  if (values !== null) {
    const rowsMax = [...values.values()].reduce((max, { length }) => Math.max(max, length), 1);
    const outgoing = await takeOutgoing(shares.outgoingBytes, teamId, pageBytesAtMost(rowsMax, format), reply);
    const found = await keyedRows.find(teamId, tableId, values, format);
    if (found !== null && found.count <= asked.limit) {
      outgoing.shrink(found.body.length);
      if (has(found.version)) return replyNotModified(reply, found.version);
      if (asked.query.count !== undefined) reply.header('tablog-count', found.count);
      return sendRowsPage(reply, format, asked.limit, { ...found, continuation: null });
    }
    outgoing.release();
  }
  const query = { teamId, appId, tableId, format, ...asked };
  const answer = await askWithinShares(
    shares.queries,
    shares.outgoingBytes,
    reply,
    pageBytesAtMost(asked.limit, format),
    (gone) => engine.ask(query, gone),
  );
  if (has(answer.version)) return replyNotModified(reply, answer.version);
  if (answer.count !== null) reply.header('tablog-count', answer.count);
  reply.header('tablog-cache', answer.isCold ? 'cold' : 'warm');
  return sendRowsPage(reply, format, asked.limit, answer);
}

/**
 * Asks the engine for one row of a query, within the shares of the team, so that an invalid query is refused and not
 * answered 304. Returns the version of the table. Throws HttpError.
 */
export async function checkQuery(
  { engine, shares }: { readonly engine: QueryEngine; readonly shares: Pick<Shares, 'queries' | 'outgoingBytes'> },
  reply: FastifyReply,
  asked: Pick<QueryRequest, 'tableId' | 'query' | 'prefix'>,
): Promise<bigint> {
  const { teamId, appId } = reply.request.principal;
  const query = { teamId, appId, format: 'json' as const, continuation: null, limit: 1, ...asked };
  const answer = await askWithinShares(
    shares.queries,
    shares.outgoingBytes,
    reply,
    pageBytesAtMost(1, 'json'),
    (gone) => engine.ask(query, gone),
  );
  return answer.version;
}

/** Asks the engine to run SQL, within the shares of the team, and answers. Throws HttpError. */
export async function answerSql(
  { engine, shares }: QueryDependencies,
  reply: FastifyReply,
  asked: Omit<SqlRequest, 'teamId' | 'appId'>,
): Promise<FastifyReply> {
  const { teamId, appId } = reply.request.principal;
  const { body, isCold } = await askWithinShares(shares.sql, shares.outgoingBytes, reply, sqlBytesMax, (gone) =>
    engine.askSql({ teamId, appId, ...asked }, gone),
  );
  return reply
    .header('cache-control', 'private, no-store')
    .header('tablog-cache', isCold ? 'cold' : 'warm')
    .type(mediaTypes[asked.format])
    .send(body);
}

/** A row that a query found, and its version for `If-Match`. */
export interface MatchingRow {
  readonly row: RowAddress;
  readonly version: bigint;
}

/**
 * The rows of a table that meet a filter, at one version. If more than `rowsMax` rows meet it, returns more than
 * `rowsMax` of them. The caller has taken the outgoing bytes of its answer. Throws HttpError.
 */
export async function findMatchingRows(
  { engine, shares }: { readonly engine: QueryEngine; readonly shares: Pick<Shares, 'queries'> },
  reply: FastifyReply,
  { tableId, filter, rowsMax }: { readonly tableId: string; readonly filter: unknown; readonly rowsMax: number },
): Promise<{ readonly rows: readonly MatchingRow[]; readonly version: bigint }> {
  const { teamId, appId } = reply.request.principal;
  const query = { filter, fields: ['$version'] };
  const asked = { teamId, appId, tableId, query, prefix: 'query.', format: 'json' as const, limit: rowsMax };
  const rows: MatchingRow[] = [];
  for (let continuation: string | null = null; ;) {
    const answer: EngineAnswer = await askInShare(shares.queries, reply, (gone) =>
      engine.ask({ ...asked, continuation }, gone),
    );
    const { data } = JSON.parse(answer.body.toString()) as { readonly data: readonly FoundIds[] };
    for (const { $rowID, $version } of data) rows.push({ row: parseRowId($rowID)!, version: BigInt($version) });
    ({ continuation } = answer);
    if (continuation === null || rows.length > rowsMax) return { rows, version: answer.version };
  }
}

interface FoundIds {
  readonly $rowID: string;
  readonly $version: string;
}

/** Asks the engine while holding shares of the team. When the client disconnects, aborts the signal that `ask` gets. */
async function askWithinShares<Answer extends { readonly body: Buffer }>(
  queries: FairShares,
  outgoingBytes: FairShares,
  reply: FastifyReply,
  bytesAtMost: number,
  ask: (gone: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const outgoing = await takeOutgoing(outgoingBytes, reply.request.principal.teamId, bytesAtMost, reply);
  const answer = await askInShare(queries, reply, ask);
  outgoing.shrink(answer.body.length);
  return answer;
}

/**
 * Asks the engine while holding a share of the team. When the client disconnects, aborts the signal that `ask` gets.
 */
async function askInShare<Answer>(
  queries: FairShares,
  reply: FastifyReply,
  ask: (gone: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  reply.raw.once('close', leave);
  try {
    return await queries.run(reply.request.principal.teamId, () => ask(gone.signal));
  } catch (error) {
    throw gone.signal.aborted ? new ClientGone('it was answered') : engineProblem(error);
  } finally {
    reply.raw.off('close', leave);
  }
}

/** Turns an error of the engine into an HttpError. Returns any other error unchanged. */
export function engineProblem(error: unknown): unknown {
  const again = { 'retry-after': '1' };
  if (error instanceof EngineRefusal) {
    const type = isErrorType(error.type) ? error.type : 'internal_error';
    const wait =
      error.retryAfter === null
        ? type === 'service_unavailable'
          ? again
          : {}
        : { 'retry-after': String(error.retryAfter) };
    return new HttpError(type, error.message, wait, { cause: error });
  }
  if (error instanceof EngineGone)
    return new HttpError('service_unavailable', `${error.message} Ask again.`, again, { cause: error });
  return error;
}
