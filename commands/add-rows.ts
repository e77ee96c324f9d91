/** AddRows (spec 4.12, decisions 3): a bare array, `{"rows": [...]}` or `{"$stashID": ...}`. */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { RowSource } from '../src/language/events/row-source.ts';
import { stashNameOf } from '../src/language/events/stash-name.ts';
import { parse, refuseOneRow, stashReference, tableRowsQuery, type TableRowsInput } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

export const addRowsQuery = tableRowsQuery.extend({
  mode: z
    .enum(['add', 'upsert'])
    .default('add')
    .describe(
      'What happens to a row whose key a row of the table has. `add`: the request is refused. `upsert`: the row of the ' +
        'table is patched; the columns that the new row does not name stay. Needs a table with a key.',
    ),
});

/** The members of the body except the rows: none. */
export const addRowsBody = z.strictObject({});

interface AddRowsInput extends TableRowsInput {
  readonly query: z.output<typeof addRowsQuery>;
}

/** Throws InvalidRequest. */
export function addRows({
  teamId,
  appId,
  tableId,
  ifMatch,
  query,
  members,
  rows,
  limits,
}: AddRowsInput): EventOf<'RowsAddRequested'> {
  return {
    type: 'RowsAddRequested',
    teamId,
    tableId,
    ifMatch,
    onSchemaError: query.onSchemaError,
    limits,
    ...(query.mode === 'upsert' ? { mode: query.mode } : {}),
    rows: sourceOf(appId, members, rows, query.mode),
  };
}

function sourceOf(
  appId: string | null,
  members: TableRowsInput['members'],
  rows: RowSource | null,
  mode: AddRowsInput['query']['mode'],
): RowSource {
  const invalid = (message: string): Error => new InvalidRequest(message);
  const body = members ?? {};
  refuseOneRow(body, rows, addRowsBody);
  if ('rows' in body)
    throw new InvalidRequest('rows: must be an array of rows. To add the rows of a stash, send only {"$stashID": ...}');
  if (rows === null && '$stashID' in body) {
    if (mode === 'upsert')
      throw new InvalidRequest('$stashID: mode=upsert takes no stash. Send the rows in the body, in several requests');
    return { kind: 'stash', stashId: stashNameOf(appId, parse(stashReference, body, invalid).$stashID) };
  }
  parse(addRowsBody, body, invalid);
  if (rows === null) throw new InvalidRequest('rows: required');
  return rows;
}
