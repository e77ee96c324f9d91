/** PatchTable: renames a table, changes the display names of its columns, and declares or removes its key. */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import { displayName, parse, tableKey, tableName, text } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

/** As many columns as a table may have. */
const columnsMax = 1000;

export const patchTableBody = z.strictObject({
  name: tableName.optional(),
  columns: z
    .array(z.strictObject({ id: text(256), displayName: displayName.nullable() }))
    .max(columnsMax)
    .default([]),
  key: tableKey.nullable().optional(),
});

export interface PatchTableInput {
  readonly teamId: string;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
  /** The body's members. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** Throws InvalidRequest. */
export function patchTable({ teamId, tableId, ifMatch, members }: PatchTableInput): EventOf<'TablePatchRequested'> {
  const { name, columns, key } = parse(patchTableBody, members, (message) => new InvalidRequest(message));
  return {
    type: 'TablePatchRequested',
    teamId,
    tableId,
    ifMatch,
    name: name ?? null,
    columns,
    ...(key === undefined ? {} : { key }),
  };
}
