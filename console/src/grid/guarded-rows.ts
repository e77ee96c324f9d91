/** Writes a row only if nobody else has changed it since the person read it. */
import type { AnyRow, Table, Version } from '../../../clients/typescript/src/index.ts';
import { eachInParallel } from '../../../src/language/each-in-parallel.ts';
import { isErrorOfType } from '../ui/describe-error.ts';
import { isSameCell } from './cell-text.ts';
import type { GridRow } from './rows-reader.ts';

/** A row as somebody sees it. */
export interface SeenRow {
  /** From 1, as it is shown; null if it is in no place any more. */
  readonly place: number | null;
  readonly row: GridRow;
  /** The version that it was read at. */
  readonly version: Version;
}

export interface RowChange {
  readonly seen: SeenRow;
  /** The cells that are written; null empties one. Null instead of cells: the row is deleted. */
  readonly after: AnyRow | null;
}

/** A row that this did not write, because somebody else changed the same cells first. */
export interface RowConflict extends RowChange {
  /** The row as it is now; null: somebody else has deleted it. */
  readonly now: GridRow | null;
}

export interface RowsWritten {
  /** IDs of the rows that were written. */
  readonly written: readonly string[];
  /** In the order of the changes. */
  readonly conflicts: readonly RowConflict[];
  /** Why the rest was not tried; undefined if all was. */
  readonly failure: unknown;
}

const parallel = 6;

/**
 * Writes each row with the If-Match of the version that is seen. A conflict keeps no other row from being written;
 * another refusal ends it. Never rejects.
 */
export async function writeRows(table: Table, changes: readonly RowChange[]): Promise<RowsWritten> {
  const written: string[] = [];
  const conflicts = new Map<number, RowConflict>();
  let failure: unknown;
  try {
    await eachInParallel(
      oneByOne(changes),
      parallel,
      async (change, place) => {
        const conflict = await writeRow(table, change);
        if (conflict === null) written.push(change.seen.row.$rowID);
        else conflicts.set(place, conflict);
      },
      () => undefined,
    );
  } catch (error) {
    failure = error;
  }
  return { written, conflicts: [...conflicts].toSorted(([a], [b]) => a - b).map(([, conflict]) => conflict), failure };
}

/**
 * Resolves to the conflict if there is one. Cells that others have changed, and this does not write, are none. Throws
 * what the service refuses.
 */
async function writeRow(table: Table, { seen, after }: RowChange): Promise<RowConflict | null> {
  const rowID = seen.row.$rowID;
  for (let ifMatch = seen.version; ;) {
    try {
      if (after === null) await table.delete(rowID, { ifMatch });
      else await table.patch(rowID, after, { ifMatch });
      return null;
    } catch (error) {
      if (!isErrorOfType(error, 'precondition_failed', 'row_not_found')) throw error;
    }
    const known = await table.row(rowID).catch((error: unknown) => {
      if (isErrorOfType(error, 'row_not_found')) return null;
      throw error;
    });
    // What was to be deleted is gone.
    if (known === null && after === null) return null;
    if (known === null) return { seen, after, now: null };
    if (changedCells(seen.row, known.data, after).length > 0) return { seen, after, now: known.data };
    ifMatch = known.version;
  }
}

/**
 * IDs of the columns in which a row is no longer as it was seen: of those that are written; of all if it is deleted.
 */
export function changedCells(seen: GridRow, now: GridRow, after: AnyRow | null): string[] {
  const columns = after === null ? [...new Set([...Object.keys(seen), ...Object.keys(now)])] : Object.keys(after);
  return columns.filter((id) => !isSameCell(seen[id], now[id]));
}

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}
