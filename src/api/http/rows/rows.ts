/** Spec 4.3 to 4.6 and 4.12: the rows of a table. */
import type { FastifyRequest } from 'fastify';
import { addRows, addRowsQuery } from '../../../../commands/add-rows.ts';
import { deleteRow } from '../../../../commands/delete-row.ts';
import { patchRow, patchRowQuery } from '../../../../commands/patch-row.ts';
import { refuseRequest } from '../../../../commands/refuse-request.ts';
import { refusalOfCells } from '../../../../projections/tables/guards.ts';
import { pageBytesAtMost, type PageQueries } from '../../../../projections/tables/pages.queries.ts';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import type { QueryEngine } from '../../query/query-engine.ts';
import type { RowLimits } from '../../../language/events/limits.ts';
import { packBody, type PackedBody } from '../../../language/events/event-codec.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { parseRowId, type RowAddress } from '../../../language/events/row-id.ts';
import { readPatchRow } from '../../../language/formats/read-patch-row.ts';
import type { TeamActivity } from '../../usage/team-activity.ts';
import type { App } from '../server/app-type.ts';
import { formatContinuation, parseContinuation } from '../requests/continuation.ts';
import { delimitedQuery, formOf } from '../requests/delimited-query.ts';
import { isOfQuery, queryOf, rowsQuery } from '../requests/rows-query.ts';
import { rowOperations } from './rows-operations.ts';
import { answerQuery } from '../answers/answer-query.ts';
import { setDroppedCells } from '../answers/answer-write.ts';
import { readPage } from '../answers/read-page.ts';
import { rowsFormatOf, sendRowsPage } from '../answers/rows-page.ts';
import type { Shares } from '../limits/shares.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { replyMissing } from '../answers/missing.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { collectBody, isBodyWithin } from '../bodies/request-body.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { identify, identifyWithBody } from '../submit/request-identity.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch, readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';
import { writeRows, type RowWriteDependencies } from '../bodies/write-rows.ts';

const json = 'application/json; charset=utf-8';

/** A patch of at most this many bytes need not wait for a place among the large bodies, nor for a look at its table. */
const smallPatchBytesMax = 16 * 1024;

interface RowPath {
  readonly rowID: string;
}

export interface RowsRouteDependencies extends RowWriteDependencies {
  readonly tables: TableQueries;
  readonly pages: PageQueries;
  readonly engine: QueryEngine;
  readonly shares: Pick<Shares, 'bodies' | 'pages' | 'queries' | 'sql' | 'outgoingBytes'>;
  /** Null if there are no rate limits. */
  readonly rateLimits: RateLimits | null;
  readonly activity: Pick<TeamActivity, 'rowsRead'>;
  readonly limits: RowLimits;
  readonly bodyBytesMax: number;
}

export function addRowRoutes(app: App, dependencies: RowsRouteDependencies): void {
  addTableRowRoutes(app, dependencies);
  addSingleRowRoutes(app, dependencies);
}

function addTableRowRoutes(app: App, dependencies: RowsRouteDependencies): void {
  const { tables, pages, shares, activity, limits } = dependencies;
  const path = '/tables/:tableID/rows';

  app.head(path, { config: { operation: rowOperations.version } }, async (request, reply) => {
    const has = readIfNoneMatch(request);
    const version = await tables.version(request.principal.teamId, tableIdOf(request));
    if (version === null) return replyMissing(reply, 'table_not_found');
    return has(version) ? replyNotModified(reply, version) : setVersion(reply, version).send();
  });

  app.get(
    path,
    { schema: { querystring: rowsQuery }, config: { operation: rowOperations.list } },
    async (request, reply) => {
      const { teamId } = request.principal;
      const tableId = tableIdOf(request);
      const { limit, continuation } = request.query;
      const query = queryOf(request.query);
      if (query !== null || isOfQuery(continuation)) {
        return answerQuery(dependencies, request, reply, {
          query: query ?? {},
          continuation: continuation ?? null,
          limit,
          prefix: 'query.',
        });
      }
      const has = readIfNoneMatch(request);
      const from = continuation === undefined ? null : parseContinuation(tableId, continuation);
      const format = rowsFormatOf(reply);
      const { page, outgoing } = await readPage(shares, reply, pageBytesAtMost(limit, format), () =>
        pages.page(teamId, tableId, from, limit, format),
      );
      if (typeof page === 'string') return replyMissing(reply, page);
      if (has(page.etag)) return replyNotModified(reply, page.etag);
      const next = page.next === null ? null : formatContinuation(tableId, page.next);
      const body = page.rows.page(next);
      outgoing.shrink(body.length);
      activity.rowsRead(teamId, page.rows.count);
      return sendRowsPage(reply, format, limit, { body, version: page.etag, continuation: next });
    },
  );

  app.post(
    path,
    {
      schema: { querystring: addRowsQuery.extend(delimitedQuery) },
      config: { operation: rowOperations.add },
    },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const tableId = tableIdOf(request);
      const ifMatch = readIfMatch(request) ?? null;
      const target = { teamId, appId, tableId, ifMatch, query: request.query, limits };
      const { schema, refusal } = await tables.target(teamId, tableId, ifMatch);
      return writeRows(request, reply, dependencies, {
        schema,
        lookUp: async () => () => refusal,
        infersTypes: request.query.onSchemaError === 'updateSchema',
        dropsCells: request.query.onSchemaError === 'dropColumns',
        delimited: formOf(request.query),
        command: (members, given) => addRows({ ...target, members, rows: given }),
        status: 201,
      });
    },
  );
}

function addSingleRowRoutes(
  app: App,
  { submitter, tables, rows, shares, rateLimits, activity, limits, bodyBytesMax }: RowsRouteDependencies,
): void {
  const path = '/tables/:tableID/rows/:rowID';

  app.get(path, { config: { operation: rowOperations.get } }, async (request, reply) => {
    const has = readIfNoneMatch(request);
    const tableId = tableIdOf(request);
    const found = await rows.row(request.principal.teamId, tableId, rowOf(request) ?? neverARow);
    if (typeof found === 'string') return replyMissing(reply, found);
    if (has(found.etag)) return replyNotModified(reply, found.etag);
    activity.rowsRead(request.principal.teamId, 1);
    return setVersion(reply, found.etag).type(json).send(`{"data":${found.json}}`);
  });

  app.patch(
    path,
    {
      schema: { querystring: patchRowQuery },
      config: { operation: rowOperations.patch },
    },
    async (request, reply) => {
      const { teamId } = request.principal;
      readMediaType(request, ['application/json']);
      const identity = identify(request);
      const ifMatch = readIfMatch(request) ?? null;
      const isSmall = isBodyWithin(smallPatchBytesMax, request.raw);
      const bytes = isSmall
        ? await collectBody(request, bodyBytesMax)
        : await collectInPlace(shares.bodies, request, bodyBytesMax);
      identity.digest?.update(bytes);
      const {
        block,
        rowId: givenRowId,
        refusal: refusalOfRow,
      } = readPatchRow(bytes, { dropsCells: request.query.onSchemaError === 'dropColumns' });
      const tableId = tableIdOf(request);
      const row = rowOf(request) ?? neverARow;
      const { rowID: rowId } = request.params as RowPath;
      const event = patchRow({
        teamId,
        tableId,
        row,
        rowId,
        ifMatch,
        query: request.query,
        profile: block.profile,
        givenRowId,
        limits,
      });
      rateLimits?.take('rows', teamId, 1);
      const findRefusal = async (): Promise<Refusal | null> => {
        const { schema, refusal } = await tables.target(teamId, tableId, null);
        const first = refusal ?? (await rows.refusalOfPatch(teamId, tableId, row, ifMatch));
        if (first !== null || refusalOfRow === null) return first;
        return refusalOfCells(event, schema, block.profile) ?? refusalOfRow;
      };
      const refusal = isSmall && refusalOfRow === null ? null : await findRefusal();
      const { etag, result } =
        refusal === null
          ? await submitter.submit(teamId, identity, event, await packPatch(block.body))
          : await submitter.submit(teamId, identity, refuseRequest(teamId, refusal));
      return setDroppedCells(setVersion(reply, etag), result.droppedCells).type(json).send('{}');
    },
  );

  app.delete(path, { config: { operation: rowOperations.remove } }, async (request, reply) => {
    const { teamId } = request.principal;
    const ifMatch = readIfMatch(request) ?? null;
    const event = deleteRow({ teamId, tableId: tableIdOf(request), row: rowOf(request) ?? neverARow, ifMatch });
    const identity = await identifyWithBody(request, bodyBytesMax);
    rateLimits?.take('rows', teamId, 1);
    const { etag } = await submitter.submit(teamId, identity, event);
    return setVersion(reply, etag).type(json).send('{}');
  });
}

/** Short patches are not worth the compression. */
async function packPatch(bytes: Uint8Array): Promise<PackedBody> {
  return bytes.length < 1024 ? { codec: 0, bytes } : packBody(bytes);
}

/** An address that no row has: a malformed ID is answered like an unknown one. */
const neverARow: RowAddress = { version: 0n, ordinal: 0, index: 0 };

function rowOf(request: FastifyRequest): RowAddress | null {
  return parseRowId((request.params as RowPath).rowID);
}
