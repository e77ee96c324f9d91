/** DeleteTable: deletes a table with all its rows. */
import type { EventOf } from '../src/language/events/event.ts';

interface DeleteTableInput {
  readonly teamId: string;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
}

export function deleteTable({ teamId, tableId, ifMatch }: DeleteTableInput): EventOf<'TableDeleteRequested'> {
  return { type: 'TableDeleteRequested', teamId, tableId, ifMatch };
}
