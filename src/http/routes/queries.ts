/** `POST /tables/{tableID}/query`: a query on the rows of a table, for filters that are too long for a URL, and for groups. */
import { readMembers } from '../../formats/read-members.ts';
import { answerQuery, type QueryDependencies } from '../answers/answer-query.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { collectBody } from '../bodies/request-body.ts';
import { HttpError } from '../answers/http-error.ts';
import type { Shares } from '../limits/shares.ts';
import { queryOperations } from '../openapi/operations/queries.ts';
import { invalidContinuation } from '../requests/continuation.ts';
import { pageItemsMax } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';

/** The largest body of a query. */
const bodyBytesMax = 1024 * 1024;

export interface QueriesRouteDependencies extends QueryDependencies {
  readonly shares: QueryDependencies['shares'] & Pick<Shares, 'bodies'>;
}

const members = ['filter', 'sort', 'fields', 'count', 'groupBy', 'aggregate', 'limit', 'continuation'] as const;

export function addQueryRoutes(app: App, dependencies: QueriesRouteDependencies): void {
  app.post('/tables/:tableID/query', { config: { operation: queryOperations.queryRows } }, async (request, reply) => {
    readMediaType(request, ['application/json']);
    const bytes = await dependencies.shares.bodies.run(request.principal.teamId, () => collectBody(request, bodyBytesMax));
    const { limit, continuation, ...query } = only(members, readMembers(bytes));
    return answerQuery(dependencies, request, reply, { query, continuation: readContinuation(continuation), limit: readLimit(limit), prefix: '' });
  });
}

/** The members of a body that may have these. Throws HttpError for others. */
function only(names: readonly string[], given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const other = Object.keys(given).find((name) => !names.includes(name));
  if (other !== undefined) throw new HttpError('request_validation_error', `${other}: there is no such property.`);
  return given;
}

function readLimit(given: unknown): number {
  if (given === undefined) return pageItemsMax;
  if (!Number.isInteger(given) || (given as number) < 1) throw new HttpError('request_validation_error', 'limit: must be a whole number of at least 1');
  return Math.min(given as number, pageItemsMax);
}

function readContinuation(given: unknown): string | null {
  if (given === undefined) return null;
  if (typeof given !== 'string') throw invalidContinuation('', 'this query');
  return given;
}
