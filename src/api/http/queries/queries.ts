/** Queries: on the rows of a table, and in SQL (docs/spec/queries.md). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { numberToken } from '../../../language/formats/exact-json.ts';
import { readMembersExactly } from '../../../language/formats/read-members.ts';
import { excerptOf } from '../../../language/values/build-profile.ts';
import { isExactNumber } from '../../../language/values/json-text.ts';
import type { SqlRequest } from '../../query/protocol.ts';
import { answerQuery, answerSql, queryErrors, type QueryDependencies } from '../answers/answer-query.ts';
import { HttpError } from '../answers/http-error.ts';
import { rowsFormatOf } from '../answers/rows-page.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { readMediaType } from '../bodies/media-type.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import { cellsOf, outputColumnType, continuation, outputRow } from '../openapi/schemas.ts';
import { invalidContinuation } from '../requests/continuation.ts';
import { pageItemsMax } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import { queryBody } from './query-body.ts';

interface QueriesRouteDependencies extends QueryDependencies {
  readonly shares: QueryDependencies['shares'] & Pick<Shares, 'bodies'>;
}

const queryOperation: Operation = {
  operationId: 'queryRows',
  tag: 'Rows',
  summary: 'Query rows',
  description:
    'A page of the rows that meet a filter, or of their groups. All pages show one version of the table, which `ETag` names; the next page can be read for an hour. ' +
    'The answer includes all writes that were answered before. With `Accept: text/csv` it is CSV. With `continuation`, all parameters but `limit` are ignored.',
  isCommand: false,
  isRead: true,
  body: jsonContent(queryBody, {
    rows: {
      filter: { and: [{ column: 'born', op: 'lt', value: '1900-01-01' }, { not: { column: 'name', op: 'isEmpty' } }] },
      sort: ['-born'],
      limit: 100,
    },
    groups: {
      groupBy: ['city'],
      aggregate: [{ op: 'count' }, { op: 'sum', column: 'amount', as: 'total' }],
      sort: ['-total'],
    },
  }),
  answers: {
    200: {
      description: 'Rows or groups, and the continuation.',
      versioned: true,
      headersAtTimes: ['Tablog-Count', 'Tablog-Cache', 'Tablog-Continuation', 'Link'],
      body: {
        ...jsonContent(z.strictObject({ data: z.array(z.union([outputRow, z.looseObject({})])), continuation }), {
          rows: { data: [{ $rowID: 'AAAAAAAAAAEAAAAAAAAAAA', name: 'Ada', born: '1815-12-10' }] },
          groups: { data: [{ city: 'Paris', count: 2, total: 42 }] },
        }),
        ...cellsOf('A line with the names of the columns, and a line for each row or group.', {
          groups: 'city,count,total\nParis,2,42\n',
        }),
      },
    },
  },
  errors: ['continuation_expired', ...queryErrors],
};

function addQueryRows(app: App, dependencies: QueriesRouteDependencies): void {
  app.post('/tables/:tableID/query', { config: { operation: queryOperation } }, async (request, reply) => {
    const { limit, continuation, ...query } = await readQueryBody(
      request,
      dependencies,
      Object.keys(queryBody.shape),
      'filter',
    );
    return answerQuery(dependencies, request, reply, {
      query,
      continuation: readContinuation(continuation),
      limit: readLimit(limit),
      prefix: '',
    });
  });
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

const parameter = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const sqlBody = z.strictObject({
  sql: z.string().regex(/\S/).meta({ description: 'At most 64 KiB.' }),
  parameters: z
    .union([z.array(parameter), z.record(z.string(), parameter)])
    .optional()
    .meta({
      description:
        'An array has the values of `?`, or of `$1`, `$2` and so on; an object, those of `$name`. An integer that a double cannot hold is refused: send it as a text.',
    }),
  format: z.enum(['json', 'csv']).optional().meta({ description: 'Without it, `Accept` decides.' }),
});

const sqlOperation: Operation = {
  operationId: 'querySql',
  tag: 'Rows',
  summary: 'Query tables in SQL',
  description:
    'One SELECT in the SQL of DuckDB, over the tables of the team. It names a table by its ID, or by its name if no other table has that name. It reads all tables at one moment, at the versions in the ' +
    'answer, and sees all writes that were answered before. Besides its columns each table has `$rowID` and `$version`. Names are case-sensitive.',
  isCommand: false,
  isRead: true,
  body: jsonContent(sqlBody, {
    'a group': {
      sql: 'SELECT city, avg(amount) AS mean FROM orders WHERE amount > $1 GROUP BY city',
      parameters: [4],
    },
  }),
  answers: {
    200: {
      description:
        'The rows of the result, its columns with their types, and the versions of the tables. CSV has only a header and the rows.',
      headersAtTimes: ['Tablog-Cache'],
      body: {
        ...jsonContent(
          z.strictObject({
            data: z.array(z.looseObject({})),
            columns: z.array(z.strictObject({ name: z.string(), type: outputColumnType })),
            versions: z.record(z.string(), z.string()),
          }),
          {
            'a group': {
              data: [{ city: 'Paris', mean: 21 }],
              columns: [
                { name: 'city', type: 'string' },
                { name: 'mean', type: 'number' },
              ],
              versions: { '0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e': '42' },
            },
          },
        ),
        ...cellsOf('A header, and a line for each row.', { 'a group': 'city,mean\nParis,21\n' }),
      },
    },
  },
  errors: [
    'query_invalid',
    'payment_required',
    'table_not_found',
    'limit_exceeded',
    'query_timeout',
    'column_has_invalid_value',
  ],
};

function addQuerySql(app: App, dependencies: QueriesRouteDependencies): void {
  app.post('/query', { config: { operation: sqlOperation } }, async (request, reply) => {
    const { sql, parameters, format } = await readQueryBody(
      request,
      dependencies,
      Object.keys(sqlBody.shape),
      'parameters',
    );
    return answerSql(dependencies, reply, {
      sql: readSql(sql),
      parameters: readParameters(parameters),
      format: readFormat(format, reply),
    });
  });
}

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
      `${place}: ${excerptOf(token)} is an integer that a 64-bit floating-point number cannot hold exactly: send it as a text`,
    );
  }
  return given as SqlRequest['parameters'];
}

/** The format; by default the one that the client prefers. */
function readFormat(given: unknown, reply: FastifyReply): SqlRequest['format'] {
  if (given === undefined) return rowsFormatOf(reply);
  if (given !== 'json' && given !== 'csv')
    throw new HttpError('request_validation_error', 'format: must be json or csv');
  return given;
}

/** Maximum of bytes of the body of a query. */
const bodyBytesMax = 1024 * 1024;

/**
 * The members of a body, which may have only these names. `exact`: the member whose numbers keep their exact text.
 * Throws HttpError for another name, and as `collectInPlace` does.
 */
async function readQueryBody(
  request: FastifyRequest,
  { shares }: QueriesRouteDependencies,
  names: readonly string[],
  exact: string,
): Promise<Readonly<Record<string, unknown>>> {
  readMediaType(request, ['application/json']);
  const given = readMembersExactly(await collectInPlace(shares.bodies, request, bodyBytesMax), [exact]);
  const other = Object.keys(given).find((name) => !names.includes(name));
  if (other !== undefined) throw new HttpError('request_validation_error', `${other}: there is no such property.`);
  return given;
}

export function addQueryRoutes(app: App, dependencies: QueriesRouteDependencies): void {
  addQueryRows(app, dependencies);
  addQuerySql(app, dependencies);
}
