/** Writes with rows in the body: create, add and overwrite. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TableRowsInput } from '../../../../commands/inputs.ts';
import { refusalOfCells } from '../../../../projections/tables/guards.ts';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import type { EventOf } from '../../../language/events/event.ts';
import type { RowLimits } from '../../../language/events/limits.ts';
import type { RowSource } from '../../../language/events/row-source.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import type { TableSchema } from '../../../language/values/table-schema.ts';
import { submitAndAnswer, readAsynchronous, type WriteDependencies } from '../submit/submit-and-answer.ts';
import type { Refuses } from './body-blocks.ts';
import { receiveRows, rowsIn, type ReceiveRowsOptions, type RowReceiver } from './receive-rows.ts';
import { delimitedFormOf, type DelimitedQuery } from '../requests/delimited-query.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch } from '../requests/versions.ts';
import { identify } from '../submit/request-identity.ts';
import { refusing } from '../submit/turned-away.ts';

/** The dependencies of writing a body of rows. */
interface RowWriteDependencies extends WriteDependencies {
  readonly receiver: RowReceiver;
}

interface RowsWrite extends Omit<ReceiveRowsOptions, 'columns'> {
  /**
   * Builds the event from the members of the body except its rows (null for a bare array), and from where the rows are
   * (null if the body had none). Throws InvalidRequest.
   */
  readonly command: (
    members: Readonly<Record<string, unknown>> | null,
    rows: RowSource | null,
  ) => EventOf<'TableCreateRequested' | 'RowsAddRequested' | 'TableOverwriteRequested'>;
  /** The schema of the table that the rows are for; null for a new table. */
  readonly schema: TableSchema | null;
  /** The status of a successful answer. */
  readonly status: 200 | 201;
}

/** The dependencies of writing a body of rows to a table. */
export interface TableRowWriteDependencies extends RowWriteDependencies {
  readonly tables: Pick<TableQueries, 'target'>;
  readonly limits: RowLimits;
}

/** Writes rows to the table of the path. Throws as `writeRows` does, and HttpError for a malformed `If-Match`. */
export async function writeRowsToTable<Query extends TableRowsInput['query'] & DelimitedQuery>(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: TableRowWriteDependencies,
  {
    query,
    command,
    ...options
  }: {
    readonly query: Query;
    /** Throws InvalidRequest. */
    readonly command: (input: TableRowsInput & { readonly query: Query }) => ReturnType<RowsWrite['command']>;
    readonly retainIds?: boolean;
    readonly areUpserted?: boolean;
    readonly status: RowsWrite['status'];
  },
): Promise<FastifyReply> {
  const { teamId, appId } = request.principal;
  const { tables, limits } = dependencies;
  const tableId = tableIdOf(request);
  const ifMatch = readIfMatch(request) ?? null;
  const { schema, refusal, rowBytesMax } = await tables.target(teamId, tableId, ifMatch);
  const refuses: Refuses = ({ rows }) =>
    refusal ?? (options.areUpserted === true && rows * rowBytesMax > patchedBytesMax ? tooLong(rowBytesMax) : null);
  return writeRows(request, reply, dependencies, {
    ...options,
    schema,
    lookUp: async () => refuses,
    infersTypes: query.onSchemaError === 'updateSchema',
    dropsCells: query.onSchemaError === 'dropColumns',
    delimited: delimitedFormOf(query),
    command: (members, rows) => command({ teamId, appId, tableId, ifMatch, query, limits, members, rows }),
  });
}

/**
 * How many bytes the rows may have that an upsert patches, as far as the longest row of the table tells: they are
 * loaded together.
 */
const patchedBytesMax = 128 * 1024 * 1024;

function tooLong(rowBytesMax: number): Refusal {
  const rows = Math.floor(patchedBytesMax / rowBytesMax);
  const message = `rows: mode=upsert takes at most ${rows} rows at once for a table with rows of up to ${rowBytesMax} bytes`;
  return { type: 'limit_exceeded', message };
}

/** Reads the body, submits the command, and answers. Throws as `receiveRows` and `submitAndAnswer` do. */
export async function writeRows(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: RowWriteDependencies,
  { command, status, schema, ...options }: RowsWrite,
): Promise<FastifyReply> {
  const { teamId } = request.principal;
  const identity = identify(request);
  const asynchronous = readAsynchronous(request);
  await using received = await receiveRows(dependencies.receiver, request, identity, {
    ...options,
    columns: schema?.columns.map(({ id }) => id) ?? [],
  });
  // Refuse a malformed request before anything is stored.
  const asked = received.isWhole ? command(received.members, received.hasRows ? { kind: 'none' } : null) : null;
  if (asked?.rows.kind === 'stash') dependencies.receiver.rateLimits?.take('imports', teamId, 1);
  const stored =
    asked?.rows.kind === 'stash'
      ? { source: asked.rows, body: undefined }
      : await received.store((profile) => asked && refusalOfCells(asked, schema, profile));
  const newTable = asked?.type === 'TableCreateRequested' ? asked.tableId : null;
  const write =
    'refusal' in stored
      ? { event: refusing(teamId, stored.refusal), body: undefined, rows: received.rowCount }
      : { event: { ...asked!, rows: stored.source }, body: stored.body, rows: rowsIn(received, stored.source) };
  return await submitAndAnswer(
    reply,
    dependencies,
    { teamId, identity, asynchronous, newTable, remarks: received.remarks, ...write },
    status,
  );
}
