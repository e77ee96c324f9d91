/** CreateTable (spec 4.2). */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { RowSource } from '../src/language/events/row-source.ts';
import type { TableLimits } from '../src/language/events/limits.ts';
import { stashNameOf } from '../src/language/events/stash-name.ts';
import {
  appIds,
  appIdsQuery,
  onSchemaError,
  parse,
  refuseOneRow,
  stashReference,
  tableName,
  tableSchema,
} from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

export const createTableQuery = z.strictObject({
  name: tableName.optional().describe('The name of the table, if the body has none.'),
  appsToLink: appIdsQuery.optional(),
  onSchemaError,
});

/** The members of the body except an array of rows; `rows` is here only if it is a reference to a stash. */
export const createTableBody = z.strictObject({
  name: tableName.optional(),
  schema: tableSchema.optional(),
  appsToLink: appIds.optional(),
  rows: stashReference.optional(),
});

interface CreateTableInput {
  readonly teamId: string;
  /** The app of the token, which has stashes of its own; null: the token is for the whole team. */
  readonly appId: string | null;
  readonly tableId: string;
  readonly query: z.output<typeof createTableQuery>;
  /** The body's members, or null for a bare array. */
  readonly members: Readonly<Record<string, unknown>> | null;
  /** Where the rows of an array are stored; null if the body had none. */
  readonly rows: RowSource | null;
  readonly limits: TableLimits;
}

/** Throws InvalidRequest. */
export function createTable({
  teamId,
  appId,
  tableId,
  query,
  members,
  rows,
  limits,
}: CreateTableInput): EventOf<'TableCreateRequested'> {
  refuseOneRow(members ?? {}, rows, createTableBody);
  const body = parse(createTableBody, members ?? {}, (message) => new InvalidRequest(message));
  if (query.name !== undefined && body.name !== undefined) {
    throw new InvalidRequest('name: given in the query and in the body; give it once');
  }
  const name = query.name ?? body.name;
  if (name === undefined) throw new InvalidRequest('name: required');
  const source: RowSource | null = body.rows
    ? { kind: 'stash', stashId: stashNameOf(appId, body.rows.$stashID) }
    : rows;
  if (source === null) throw new InvalidRequest('rows: required');
  const appsToLink =
    query.appsToLink || body.appsToLink
      ? [...new Set([...(query.appsToLink ?? []), ...(body.appsToLink ?? [])])]
      : null;
  return {
    type: 'TableCreateRequested',
    teamId,
    tableId,
    name,
    columns: body.schema?.columns ?? null,
    ...(body.schema?.key === undefined ? {} : { key: body.schema.key }),
    onSchemaError: query.onSchemaError,
    appsToLink,
    limits,
    rows: source,
  };
}
