/** OverwriteTable (spec 4.12, decisions 3): `{schema?, rows}`, a bare array, `{"$stashID": ...}`, CSV or TSV. */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { RowSource } from '../src/language/events/row-source.ts';
import { stashNameOf } from '../src/language/events/stash-name.ts';
import { parse, refuseOneRow, stashReference, tableRowsQuery, tableSchema, type TableRowsInput } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

export const overwriteTableQuery = tableRowsQuery;

/** The members of the body except an array of rows; `rows` is here only if it is a reference to a stash. */
export const overwriteTableBody = z.strictObject({ schema: tableSchema.optional(), rows: stashReference.optional() });

/** Throws InvalidRequest. */
export function overwriteTable({
  teamId,
  appId,
  tableId,
  ifMatch,
  query,
  members,
  rows,
  limits,
}: TableRowsInput): EventOf<'TableOverwriteRequested'> {
  const { columns, key, source } = contentOf(appId, members ?? {}, rows);
  return {
    type: 'TableOverwriteRequested',
    teamId,
    tableId,
    ifMatch,
    columns,
    ...(key === undefined ? {} : { key }),
    onSchemaError: query.onSchemaError,
    limits,
    rows: source,
  };
}

function contentOf(
  appId: string | null,
  members: Readonly<Record<string, unknown>>,
  rows: RowSource | null,
): {
  readonly columns: EventOf<'TableOverwriteRequested'>['columns'];
  readonly key: readonly string[] | undefined;
  readonly source: RowSource;
} {
  const invalid = (message: string): Error => new InvalidRequest(message);
  if (rows === null && '$stashID' in members) {
    return {
      columns: null,
      key: undefined,
      source: { kind: 'stash', stashId: stashNameOf(appId, parse(stashReference, members, invalid).$stashID) },
    };
  }
  refuseOneRow(members, rows, overwriteTableBody);
  const body = parse(overwriteTableBody, members, invalid);
  const source: RowSource | null = body.rows
    ? { kind: 'stash', stashId: stashNameOf(appId, body.rows.$stashID) }
    : rows;
  if (source === null) throw new InvalidRequest('rows: required');
  return { columns: body.schema?.columns ?? null, key: body.schema?.key, source };
}
