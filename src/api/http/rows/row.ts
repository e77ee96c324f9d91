/** `/tables/{tableID}/rows/{rowID}`: a row (spec 4.3 to 4.5). */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { deleteRow } from '../../../../commands/delete-row.ts';
import { patchRow, patchRowQuery } from '../../../../commands/patch-row.ts';
import { refuseRequest } from '../../../../commands/refuse-request.ts';
import { refusalOfCells } from '../../../../projections/tables/guards.ts';
import type { RowQueries } from '../../../../projections/tables/rows.queries.ts';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { parseRowId, type RowAddress } from '../../../language/events/row-id.ts';
import { packBody, type PackedBody } from '../../../language/events/event-codec.ts';
import type { RowLimits } from '../../../language/events/limits.ts';
import { readPatchRow } from '../../../language/formats/read-patch-row.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import type { TeamActivity } from '../../usage/team-activity.ts';
import { setDroppedCells } from '../answers/write-headers.ts';
import { replyMissing } from '../answers/missing.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { collectBody, isBodyWithin } from '../bodies/request-body.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, linksTo, type Link, type Operation } from '../openapi/operation.ts';
import { cellErrors, examples, inputRow, nothing, outputRow } from '../openapi/schemas.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch, readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';
import type { App } from '../server/app-type.ts';
import { identify, identifyWithBody } from '../submit/request-identity.ts';
import type { Submitter } from '../submit/submitter.ts';

export interface RowDependencies {
  readonly submitter: Submitter;
  readonly tables: TableQueries;
  readonly rows: RowQueries;
  readonly shares: Pick<Shares, 'bodies'>;
  /** Null if there are no rate limits. */
  readonly rateLimits: RateLimits | null;
  readonly activity: Pick<TeamActivity, 'rowsRead'>;
  readonly limits: RowLimits;
  readonly bodyBytesMax: number;
}

const rowPath = {
  rowID: z.string().meta({ description: 'The ID of a row.', examples: ['AAAAAAAAAAEAAAAAAAAAAA'] }),
};

/** The text in the path for `rowID`. It need not be an ID. */
function rowIdOf(request: FastifyRequest): string {
  return (request.params as { readonly rowID: string }).rowID;
}

/**
 * The row of the path. A malformed ID becomes an address that no row has, so that the answer is the same as for an
 * unknown ID.
 */
function rowOf(request: FastifyRequest): RowAddress {
  return parseRowId(rowIdOf(request)) ?? { version: 0n, ordinal: 0, index: 0 };
}

/** Links for the first row that an answer names. `tableID`: the runtime expression for the ID of its table. */
export function rowLinks(tableID: '$response.body#/data/tableID' | '$request.path.tableID'): Link[] {
  return linksTo(['getRow', 'updateRow', 'deleteRow'], { tableID, rowID: '$response.body#/data/rowIDs/0' });
}

const getOperation: Operation = {
  operationId: 'getRow',
  tag: 'Rows',
  path: rowPath,
  summary: 'Get a row',
  description: 'The row with its ID, and its version as `ETag`.',
  answers: {
    200: {
      description: 'The row.',
      versioned: true,
      body: jsonContent(z.strictObject({ data: outputRow }), { row: { data: examples.row } }),
    },
  },
  errors: ['payment_required', 'table_not_found', 'row_not_found'],
};

function addGetRow(app: App, { rows, activity }: RowDependencies): void {
  app.get('/tables/:tableID/rows/:rowID', { config: { operation: getOperation } }, async (request, reply) => {
    const has = readIfNoneMatch(request);
    const tableId = tableIdOf(request);
    const found = await rows.row(request.principal.teamId, tableId, rowOf(request));
    if (typeof found === 'string') return replyMissing(reply, found);
    if (has(found.etag)) return replyNotModified(reply, found.etag);
    activity.rowsRead(request.principal.teamId, 1);
    return setVersion(reply, found.etag).type('application/json; charset=utf-8').send(`{"data":${found.json}}`);
  });
}

const patchOperation: Operation = {
  operationId: 'updateRow',
  tag: 'Rows',
  path: rowPath,
  summary: 'Update a row',
  description:
    'Sets the columns that the body names; null empties a column. Other columns stay as they are. A `$rowID` in the body must ' +
    'be that of the row.',
  ifMatch: 'row',
  body: jsonContent(inputRow, { 'set one column, empty another': { name: 'Ada Lovelace', born: null } }),
  answers: {
    200: {
      description: 'The row was updated. `ETag` has its version.',
      versioned: true,
      headersAtTimes: ['Tablog-Dropped-Cells'],
      body: jsonContent(nothing, { updated: {} }),
    },
  },
  errors: ['payment_required', 'table_not_found', 'row_not_found', ...cellErrors],
};

/**
 * A patch of at most this many bytes waits neither for a place among the large bodies nor for a look-up of its table.
 */
const smallPatchBytesMax = 16 * 1024;

function addPatchRow(
  app: App,
  { submitter, tables, rows, shares, rateLimits, limits, bodyBytesMax }: RowDependencies,
): void {
  app.patch(
    '/tables/:tableID/rows/:rowID',
    { schema: { querystring: patchRowQuery }, config: { operation: patchOperation } },
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
      const row = rowOf(request);
      const event = patchRow({
        teamId,
        tableId,
        row,
        rowId: rowIdOf(request),
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
      return setDroppedCells(setVersion(reply, etag), result.droppedCells)
        .type('application/json; charset=utf-8')
        .send('{}');
    },
  );
}

/** Packs the body of a patch. Compression does not pay for a short one. */
async function packPatch(bytes: Uint8Array): Promise<PackedBody> {
  return bytes.length < 1024 ? { codec: 0, bytes } : packBody(bytes);
}

const deleteOperation: Operation = {
  operationId: 'deleteRow',
  tag: 'Rows',
  path: rowPath,
  summary: 'Delete a row',
  description: 'It is no error if the row does not exist. `ETag` has the version of the table.',
  ifMatch: 'row',
  answers: {
    200: {
      description: 'The row was deleted, or did not exist.',
      versioned: true,
      body: jsonContent(nothing, { deleted: {} }),
    },
  },
  errors: ['payment_required', 'table_not_found'],
};

function addDeleteRow(app: App, { submitter, rateLimits, bodyBytesMax }: RowDependencies): void {
  app.delete('/tables/:tableID/rows/:rowID', { config: { operation: deleteOperation } }, async (request, reply) => {
    const { teamId } = request.principal;
    const ifMatch = readIfMatch(request) ?? null;
    const event = deleteRow({ teamId, tableId: tableIdOf(request), row: rowOf(request), ifMatch });
    const identity = await identifyWithBody(request, bodyBytesMax);
    rateLimits?.take('rows', teamId, 1);
    const { etag } = await submitter.submit(teamId, identity, event);
    return setVersion(reply, etag).type('application/json; charset=utf-8').send('{}');
  });
}

export function addSingleRowRoutes(app: App, dependencies: RowDependencies): void {
  addGetRow(app, dependencies);
  addPatchRow(app, dependencies);
  addDeleteRow(app, dependencies);
}
