/** AddRows (spec 4.12, decisions 3): a bare array, `{"rows": [...]}` or `{"$stashID": ...}`. */
import { z } from 'zod';
import type { EventOf, RowLimits, RowSource } from '../src/events/event.ts';
import { onSchemaError, parse, stashReference } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

export const addRowsQuery = z.strictObject({ onSchemaError });

/** The members of the body beside the rows: there are none. */
export const addRowsBody = z.strictObject({});

export interface AddRowsInput {
  readonly teamId: string;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
  readonly query: z.output<typeof addRowsQuery>;
  /** The body's members, or null for a bare array. */
  readonly members: Readonly<Record<string, unknown>> | null;
  /** Where the rows are that came as an array; null when the body held none. */
  readonly rows: RowSource | null;
  readonly limits: RowLimits;
}

/** Throws InvalidRequest. */
export function addRows({
  teamId, tableId, ifMatch, query, members, rows, limits,
}: AddRowsInput): EventOf<'RowsAddRequested'> {
  return {
    type: 'RowsAddRequested', teamId, tableId, ifMatch, onSchemaError: query.onSchemaError, limits,
    rows: sourceOf(members, rows),
  };
}

function sourceOf(members: AddRowsInput['members'], rows: RowSource | null): RowSource {
  const invalid = (message: string): Error => new InvalidRequest(message);
  if (rows !== null) {
    parse(addRowsBody, members ?? {}, invalid);
    return rows;
  }
  const { $stashID: stashId } = parse(stashReference, members ?? {}, invalid);
  return { kind: 'stash', stashId };
}
