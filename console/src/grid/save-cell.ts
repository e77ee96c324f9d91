/** Writes a cell only if nobody has changed it since the person saw it. */
import type { AnyRow, Table, Version, Versioned } from '../../../clients/typescript/src/index.ts';
import { isErrorOfType } from '../ui/describe-error.ts';
import { isSameCell } from './cell-text.ts';
import type { GridRow } from './rows-reader.ts';

/** Somebody else has changed the cell. */
interface Conflict {
  /** The row as it is now. */
  readonly row: GridRow;
  readonly version: Version;
}

export interface CellChange {
  readonly rowID: string;
  readonly columnID: string;
  /** The value on the screen. */
  readonly before: unknown;
  /** The new value; null empties the cell. */
  readonly after: unknown;
}

/**
 * Patches a row with If-Match. If only other cells of the row have changed, tries again with the new version. `seen`:
 * the row when the edit began. Resolves with the conflict, if there is one. Throws if the service refuses the change.
 */
export async function saveCell(
  table: Table,
  { rowID, columnID, before, after }: CellChange,
  seen: Versioned<AnyRow>,
  onSchemaError: 'abort' | 'updateSchema' = 'abort',
): Promise<Conflict | null> {
  let known = seen;
  for (;;) {
    if (!isSameCell(known.data[columnID], before)) return { row: known.data as GridRow, version: known.version };
    try {
      await table.patch(rowID, { [columnID]: after }, { ifMatch: known.version, onSchemaError });
      return null;
    } catch (error) {
      if (!isErrorOfType(error, 'precondition_failed')) throw error;
      known = await table.row(rowID);
    }
  }
}
