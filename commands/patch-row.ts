/** PatchRow (spec 4.4). */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { RowAddress } from '../src/language/events/row-id.ts';
import type { RowLimits } from '../src/language/events/limits.ts';
import type { Profile } from '../src/language/values/profile.ts';
import { onSchemaError } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

export const patchRowQuery = z.strictObject({ onSchemaError });

interface PatchRowInput {
  readonly teamId: string;
  readonly tableId: string;
  readonly row: RowAddress;
  /** The ID in the path, from which `row` was parsed. */
  readonly rowId: string;
  readonly ifMatch: bigint | null;
  readonly query: z.output<typeof patchRowQuery>;
  /** The profile of the patch, and its `$rowID` if it has one. */
  readonly profile: Profile;
  readonly givenRowId?: unknown;
  readonly limits: RowLimits;
}

/** Throws InvalidRequest when the patch has the ID of another row (docs/spec/decisions.md 2). */
export function patchRow({
  teamId,
  tableId,
  row,
  rowId,
  ifMatch,
  query,
  profile,
  givenRowId,
  limits,
}: PatchRowInput): EventOf<'RowPatchRequested'> {
  if (givenRowId !== undefined && givenRowId !== rowId) {
    throw new InvalidRequest('$rowID: must be absent, or the ID of the patched row');
  }
  return {
    type: 'RowPatchRequested',
    teamId,
    tableId,
    row,
    ifMatch,
    onSchemaError: query.onSchemaError,
    limits,
    profile,
  };
}
