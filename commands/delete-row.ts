/** DeleteRow (spec 4.5). */
import type { EventOf } from '../src/language/events/event.ts';
import type { RowAddress } from '../src/language/events/row-id.ts';

interface DeleteRowInput {
  readonly teamId: string;
  readonly tableId: string;
  readonly row: RowAddress;
  readonly ifMatch: bigint | null;
}

export function deleteRow({ teamId, tableId, row, ifMatch }: DeleteRowInput): EventOf<'RowDeleteRequested'> {
  return { type: 'RowDeleteRequested', teamId, tableId, row, ifMatch };
}
