/**
 * `POST /tables/{tableID}/query`: a query on the rows of a table, for filters that are too long for a URL, and for
 * groups. `POST /query`: SQL.
 */
import { numberToken } from '../../../language/formats/exact-json.ts';
import { readMembersExactly } from '../../../language/formats/read-members.ts';
import { isExactNumber } from '../../../language/values/json-text.ts';
import type { FastifyReply } from 'fastify';
import { answerQuery, answerSql, type QueryDependencies } from '../answers/answer-query.ts';
import { rowsFormatOf } from '../answers/rows-page.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { HttpError } from '../answers/http-error.ts';
import type { Shares } from '../limits/shares.ts';
import { queryOperations } from './queries-operations.ts';
import { invalidContinuation } from '../requests/continuation.ts';
import { pageItemsMax } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import type { SqlRequest } from '../../query/protocol.ts';
import { excerptOf } from '../../../language/values/build-profile.ts';

/** The largest body of a query. */
const bodyBytesMax = 1024 * 1024;

export interface QueriesRouteDependencies extends QueryDependencies {
  readonly shares: QueryDependencies['shares'] & Pick<Shares, 'bodies'>;
}

const members = ['filter', 'sort', 'fields', 'count', 'groupBy', 'aggregate', 'limit', 'continuation'] as const;

export function addQueryRoutes(app: App, dependencies: QueriesRouteDependencies): void {
  app.post('/tables/:tableID/query', { config: { operation: queryOperations.queryRows } }, async (request, reply) => {
    readMediaType(request, ['application/json']);
    const bytes = await collectInPlace(dependencies.shares.bodies, request, bodyBytesMax);
    const { limit, continuation, ...query } = only(members, readMembersExactly(bytes, ['filter']));
    return answerQuery(dependencies, request, reply, {
      query,
      continuation: readContinuation(continuation),
      limit: readLimit(limit),
      prefix: '',
    });
  });

  app.post('/query', { config: { operation: queryOperations.querySql } }, async (request, reply) => {
    readMediaType(request, ['application/json']);
    const bytes = await collectInPlace(dependencies.shares.bodies, request, bodyBytesMax);
    const { sql, parameters, format } = only(sqlMembers, readMembersExactly(bytes, ['parameters']));
    return answerSql(dependencies, reply, {
      sql: readSql(sql),
      parameters: readParameters(parameters),
      format: readFormat(format, reply),
    });
  });
}

const sqlMembers = ['sql', 'parameters', 'format'] as const;

function readSql(given: unknown): string {
  if (typeof given !== 'string' || given.trim() === '')
    throw new HttpError('request_validation_error', 'sql: must be a text');
  return given;
}

function readParameters(given: unknown): SqlRequest['parameters'] {
  if (given === undefined) return [];
  const isParameter = (value: unknown): boolean =>
    value === null || ['string', 'boolean'].includes(typeof value) || numberToken(value) !== null;
  const isGood = typeof given === 'object' && given !== null && Object.values(given).every(isParameter);
  if (!isGood)
    throw new HttpError(
      'request_validation_error',
      'parameters: must be an array or an object of texts, numbers, booleans and null',
    );
  for (const [name, value] of Object.entries(given)) {
    const token = numberToken(value);
    if (token === null || isExactNumber(token)) continue;
    const place = Array.isArray(given) ? `parameters[${name}]` : `parameters.${name}`;
    throw new HttpError(
      'column_has_invalid_value',
      `${place}: ${excerptOf(token)} is an integer that a 64-bit floating-point number cannot hold exactly; send it as a text`,
    );
  }
  return given as SqlRequest['parameters'];
}

/** Without one, what the client prefers. */
function readFormat(given: unknown, reply: FastifyReply): SqlRequest['format'] {
  if (given === undefined) return rowsFormatOf(reply);
  if (given !== 'json' && given !== 'csv')
    throw new HttpError('request_validation_error', 'format: must be json or csv');
  return given;
}

/** The members of a body that may have these. Throws HttpError for others. */
function only(names: readonly string[], given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const other = Object.keys(given).find((name) => !names.includes(name));
  if (other !== undefined) throw new HttpError('request_validation_error', `${other}: there is no such property.`);
  return given;
}

function readLimit(given: unknown): number {
  if (given === undefined) return pageItemsMax;
  if (!Number.isInteger(given) || (given as number) < 1)
    throw new HttpError('request_validation_error', 'limit: must be a whole number of at least 1');
  return Math.min(given as number, pageItemsMax);
}

function readContinuation(given: unknown): string | null {
  if (given === undefined) return null;
  if (typeof given !== 'string') throw invalidContinuation('', 'this query');
  return given;
}
