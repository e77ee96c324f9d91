/** `PATCH` and `DELETE /tables/{tableID}/rows?filter=`: changes all rows that meet a filter (docs/spec/batches.md). */
import { randomUUIDv7 } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { onSchemaError } from '../../../../commands/inputs.ts';
import { InvalidRequest } from '../../../../commands/invalid-request.ts';
import { refusalOfCells } from '../../../../projections/tables/guards.ts';
import { commandIdOf } from '../../../language/events/command-id.ts';
import { packBody, type PackedBody } from '../../../language/events/event-codec.ts';
import type { EventOf } from '../../../language/events/event.ts';
import { formatRowId } from '../../../language/events/row-id.ts';
import type { RowBlock } from '../../../language/formats/block-writer.ts';
import { batchRowsBytesMax, operationsMax } from '../../../language/formats/read-batch.ts';
import { readPatchRow } from '../../../language/formats/read-patch-row.ts';
import type { RowsRefusal } from '../../../language/formats/row-reader.ts';
import { concatenateAll, emptyProfile } from '../../../language/values/build-profile.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { findMatchingRows, queryErrors, type MatchingRow, type QueryDependencies } from '../answers/answer-query.ts';
import { setDroppedCells, setOperationCounts } from '../answers/write-headers.ts';
import { HttpError } from '../answers/http-error.ts';
import { encloseResult } from '../answers/result-json.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import { cellErrors, examples, inputRow, rowIds } from '../openapi/schemas.ts';
import { whichRows } from '../requests/rows-query.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { setVersion } from '../requests/versions.ts';
import type { App } from '../server/app-type.ts';
import { identify, identifyWithBody, type RequestIdentity } from '../submit/request-identity.ts';
import type { Applied } from '../submit/submitter.ts';
import { refusing } from '../submit/turned-away.ts';
import { refusalOfNamed, type BatchDependencies } from './batch.ts';
import { rowLinks } from './row.ts';

/** The most tries, each of which fails if others change the rows between its query and its batch. */
const triesMax = 5;

/** About the most bytes for each row in the result of the engine, and then in the answer. */
const bytesOfRow = 80;

const dryRun = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')
  .meta({
    description: 'Whether to answer with the rows, and change nothing.',
    jsonSchema: { type: 'string', enum: ['true', 'false'], default: 'false' },
  });
const filter = whichRows.filter
  .nonoptional({ error: 'required. {"and":[]} is met by all rows' })
  .meta({ ...whichRows.filter.meta() });
const deleteQuery = z.strictObject({ filter, dryRun });
const patchQuery = deleteQuery.extend({ onSchemaError });

const answers: Operation['answers'] = {
  200: {
    description: 'The rows that met the filter, in their order. With `dryRun=true` there is no `Tablog-Rows`.',
    versioned: true,
    headersAtTimes: ['Tablog-Rows', 'Tablog-Dropped-Cells'],
    body: jsonContent(z.strictObject({ data: z.strictObject({ rowIDs: rowIds }) }), {
      changed: { data: { rowIDs: examples.rowIds } },
    }),
    links: rowLinks('$request.path.tableID'),
  },
};
const errors = [...queryErrors, 'precondition_failed'] as const;
const ofAll =
  'The request affects all of these rows, at most 10,000, or none. If somebody changes one of them meanwhile, the ' +
  'service tries again; after five tries the answer is 412. All rows meet `{"and":[]}`.';

const patchOperation: Operation = {
  operationId: 'updateRows',
  tag: 'Rows',
  summary: 'Update the rows that meet a filter',
  description: `Sets the columns that the body names; null empties one. ${ofAll}`,
  body: jsonContent(inputRow, { 'set one column, empty another': { status: 'done', due: null } }),
  answers,
  errors: [...errors, ...cellErrors],
};

const deleteOperation: Operation = {
  operationId: 'deleteRows',
  tag: 'Rows',
  summary: 'Delete the rows that meet a filter',
  description: ofAll,
  answers,
  errors,
};

export type ByFilterDependencies = BatchDependencies & QueryDependencies;

/** The request: which rows to change, and how. */
interface Asked {
  readonly filter: unknown;
  readonly dryRun: boolean;
  readonly identity: RequestIdentity;
  readonly op: 'patch' | 'delete';
  readonly onSchemaError: EventOf<'TableBatchRequested'>['onSchemaError'];
  /** The patch; null for a deletion. */
  readonly block: RowBlock | null;
  /** Why every table would refuse the patch; null if a table may accept it. */
  readonly refusal: RowsRefusal | null;
}

export function addByFilterRoutes(app: App, dependencies: ByFilterDependencies): void {
  const { shares, bodyBytesMax } = dependencies;
  const path = '/tables/:tableID/rows';

  app.patch(
    path,
    { schema: { querystring: patchQuery }, config: { operation: patchOperation } },
    async (request, reply) => {
      const { filter, dryRun, onSchemaError } = request.query;
      readMediaType(request, ['application/json']);
      const identity = identify(request);
      const bytes = await collectInPlace(shares.bodies, request, bodyBytesMax);
      identity.digest?.update(bytes);
      const { block, rowId, refusal } = readPatchRow(bytes, { dropsCells: onSchemaError === 'dropColumns' });
      if (rowId !== undefined) throw new InvalidRequest('$rowID: it must be absent, because several rows are patched');
      return changeRows(reply, dependencies, { filter, dryRun, identity, op: 'patch', onSchemaError, block, refusal });
    },
  );

  app.delete(
    path,
    { schema: { querystring: deleteQuery }, config: { operation: deleteOperation } },
    async (request, reply) => {
      const { filter, dryRun } = request.query;
      const identity = await identifyWithBody(request, bodyBytesMax);
      const asked = { filter, dryRun, identity, onSchemaError: 'abort', block: null, refusal: null } as const;
      return changeRows(reply, dependencies, { ...asked, op: 'delete' });
    },
  );
}

/** Rows of a version of the table. */
interface FoundRows {
  readonly rows: readonly MatchingRow[];
  readonly version: bigint;
}

/** Answers with the rows that the request changed, or would change. Throws HttpError. */
async function changeRows(
  reply: FastifyReply,
  dependencies: ByFilterDependencies,
  asked: Asked,
): Promise<FastifyReply> {
  const { submitter, rows: queries, shares } = dependencies;
  const { teamId } = reply.request.principal;
  await takeOutgoing(shares.outgoingBytes, teamId, operationsMax * bytesOfRow, reply);
  if (asked.dryRun) {
    const found = await findOrRefuse(reply, dependencies, asked);
    if ('type' in found) throw new HttpError(found.type, found.message);
    return setVersion(reply, found.version).send({ data: { rowIDs: found.rows.map(({ row }) => formatRowId(row)) } });
  }
  const applied = await changeInTries(reply, dependencies, asked);
  const { droppedCells, operations } = applied.result;
  const data = await submitter.answering(applied, (result) =>
    encloseResult('{"data":', result, '}', (range) => queries.retainedIds(range)),
  );
  setOperationCounts(setDroppedCells(reply, droppedCells), operations);
  return setVersion(reply, applied.etag).type('application/json; charset=utf-8').send(data);
}

/** Finds the rows and changes them. If others changed one of them in between, tries again. Throws HttpError. */
async function changeInTries(reply: FastifyReply, dependencies: ByFilterDependencies, asked: Asked): Promise<Applied> {
  const { submitter } = dependencies;
  const { teamId } = reply.request.principal;
  let isCounted = false;
  for (let tries = 1; ; tries += 1) {
    try {
      // A repetition of the request has this outcome, whatever the table is now.
      const earlier = await submitter.findEarlier(teamId, identityOf(asked.identity, tries));
      if (earlier !== null) return earlier;
      const found = await findOrRefuse(reply, dependencies, asked);
      const rows = 'type' in found ? 0 : found.rows.length;
      if (!isCounted) dependencies.rateLimits?.take('rows', teamId, rows);
      isCounted = true;
      const event = 'type' in found ? refusing(teamId, found) : eventOf(reply.request, dependencies, asked, found);
      const identity = identityOf(asked.identity, tries);
      return await submitter.submit(teamId, identity, event, await repeated(asked.block, rows), rows);
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      if (tries < triesMax) continue;
      const message = `others changed the columns, or rows that meet the filter, in each of ${triesMax} tries`;
      throw new HttpError('precondition_failed', message, {}, { cause: error });
    }
  }
}

/** Whether somebody changed or deleted one of the rows after it was found. */
function isOvertaken(error: unknown): error is HttpError {
  return error instanceof HttpError && (error.type === 'precondition_failed' || error.type === 'row_not_found');
}

/**
 * Each try is a command of its own. If a client repeats the request with its Idempotency-Key, the service repeats the
 * tries and finds the outcome of each.
 */
function identityOf(identity: RequestIdentity, tries: number): RequestIdentity {
  const { commandId, digest } = identity;
  if (digest === null) return tries === 1 ? identity : { ...identity, commandId: randomUUIDv7() };
  return {
    ...identity,
    commandId: tries === 1 ? commandId : commandIdOf(commandId, String(tries)),
    digest: digest.copy(),
  };
}

/** Errors of queries that follow from the committed state. With an Idempotency-Key, the log records them. */
const recorded: ReadonlySet<string> = new Set<Refusal['type']>([
  'payment_required',
  'table_not_found',
  'column_id_not_found',
  'column_has_invalid_value',
]);

/** The rows that meet the filter, at one version; or why the committed state refuses the request. Throws HttpError. */
async function findOrRefuse(
  reply: FastifyReply,
  dependencies: ByFilterDependencies,
  { filter, onSchemaError, block, refusal }: Asked,
): Promise<FoundRows | Refusal> {
  const { request } = reply;
  const tableId = tableIdOf(request);
  const target = await dependencies.tables.target(request.principal.teamId, tableId, null);
  if (target.refusal !== null) return target.refusal;
  if (block !== null) {
    const { limits } = dependencies;
    const misfit = refusalOfCells({ type: 'RowPatchRequested', onSchemaError, limits }, target.schema, block.profile);
    if ((misfit ?? refusal) !== null) return (misfit ?? refusal)!;
  }
  try {
    const found = await findMatchingRows(dependencies, reply, { tableId, filter, rowsMax: operationsMax });
    const { length } = found.rows;
    if (length > operationsMax)
      return { type: 'limit_exceeded', message: `more than ${operationsMax} rows meet the filter` };
    const tooMuch = length * (block?.body.length ?? 0) > batchRowsBytesMax;
    if (tooMuch)
      return {
        type: 'limit_exceeded',
        message: `the patch, repeated for ${length} rows, must not be longer than ${batchRowsBytesMax} bytes`,
      };
    const once = Array.from({ length }, () => 1);
    const longest = { rowBytesMax: target.rowBytesMax, patchBytesMax: 0 };
    return refusalOfNamed(once, longest, target.rowBytesMax) ?? found;
  } catch (error) {
    if (error instanceof HttpError && recorded.has(error.type))
      return { type: error.type as Refusal['type'], message: error.message };
    throw error;
  }
}

/** The batch that changes these rows, unless one of them or the columns have changed since. */
function eventOf(
  request: FastifyRequest,
  { limits }: ByFilterDependencies,
  { op, onSchemaError, block }: Asked,
  { rows, version }: FoundRows,
): EventOf<'TableBatchRequested'> {
  return {
    type: 'TableBatchRequested',
    teamId: request.principal.teamId,
    tableId: tableIdOf(request),
    ifMatch: null,
    onSchemaError,
    limits,
    operations: rows.map(({ row, version: ifMatch }) => ({ op, row, ifMatch })),
    foundAt: version,
    profile: block === null ? emptyProfile : concatenateAll(rows.map(() => block.profile)),
  };
}

/** The body of an event that has the same patch for each of `rows` rows. */
async function repeated(block: RowBlock | null, rows: number): Promise<PackedBody | undefined> {
  if (block === null || rows === 0) return undefined;
  const line = Buffer.from(block.body).toString();
  return packBody(Buffer.from(`${line}\n`.repeat(rows - 1) + line));
}
