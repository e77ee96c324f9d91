/** Writes rows only if nobody else has changed them since the person saw them. */
import type { AnyRow, Table, Version } from '../../../clients/typescript/src/index.ts';
import { eachInParallel } from '../../../src/language/each-in-parallel.ts';
import { isErrorOfType } from '../ui/describe-error.ts';
import { isSameCell } from './cell-text.ts';
import type { GridRow } from './rows-reader.ts';

/** A row as it is on the screen. */
export interface SeenRow {
  /** Its place on the screen, from 1; null if it has none any more. */
  readonly place: number | null;
  readonly row: GridRow;
  /** The version at which it was read. */
  readonly version: Version;
}

export interface RowChange {
  readonly seen: SeenRow;
  /** The cells to write; a null cell becomes empty. If this is null, the row is deleted. */
  readonly after: AnyRow | null;
}

/** A row that was not written, because somebody else had changed the same cells. */
export interface RowConflict extends RowChange {
  /** The row as it is now; null if somebody else has deleted it. */
  readonly now: GridRow | null;
}

export interface RowsWritten {
  /** IDs of the written rows. */
  readonly written: readonly string[];
  /** In the order of the changes. */
  readonly conflicts: readonly RowConflict[];
  /** The error that stopped the rest; undefined if all rows were tried. */
  readonly failure: unknown;
}

const parallel = 6;

/**
 * Writes each row with an If-Match of its version on the screen. A conflict does not keep other rows from being
 * written; any other refusal stops the rest. Never rejects.
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
 * Resolves with the conflict, if there is one. Changes by others to cells that this does not write are no conflict.
 * Throws if the service refuses the write for another reason.
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
    // The row to delete is already gone.
    if (known === null && after === null) return null;
    if (known === null) return { seen, after, now: null };
    if (changedCells(seen.row, known.data, after).length > 0) return { seen, after, now: known.data };
    ifMatch = known.version;
  }
}

/**
 * IDs of the columns whose cells differ from those on the screen: of the written columns, or of all columns if the row
 * is deleted.
 */
export function changedCells(seen: GridRow, now: GridRow, after: AnyRow | null): string[] {
  const columns = after === null ? [...new Set([...Object.keys(seen), ...Object.keys(now)])] : Object.keys(after);
  return columns.filter((id) => !isSameCell(seen[id], now[id]));
}

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}
