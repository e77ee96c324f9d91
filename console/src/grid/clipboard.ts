/** Copies cells to and from other programs, as lines with tabs. */
import type { Table } from '../../../clients/typescript/src/index.ts';
import type { Column } from '../tables/column-types.ts';
import { textOfCell } from './cell-text.ts';
import { writeRows, type RowsWritten, type SeenRow } from './guarded-rows.ts';
import { rowsOfCells } from './pasted-rows.ts';
import type { GridRow } from './rows-reader.ts';
import { cellsOfText, textOfCells } from './tabbed-text.ts';

interface CopyEvent {
  readonly clipboardData: DataTransfer;
  preventDefault(): void;
}

/** Maximum of rows in one paste. Larger tables should be files. */
const rowsMax = 10_000;

export function writeClipboard(event: CopyEvent, rows: readonly GridRow[], columns: readonly string[]): void {
  event.preventDefault();
  event.clipboardData.setData('text/plain', textOfCells(rows.map((row) => columns.map((id) => textOfCell(row[id])))));
}

/** The cells by line; no lines if the clipboard has no text. */
export function readClipboard(event: CopyEvent): string[][] {
  event.preventDefault();
  return cellsOfText(event.clipboardData.getData('text/plain'));
}

/**
 * Writes lines of cells over the rows on the screen. A line without a row (null) becomes a new row, unless the service
 * refuses a change. Throws for the first cell that fits no column, before anything is changed.
 */
export async function pasteRows(
  table: Table,
  columns: readonly Column[],
  seen: readonly (SeenRow | null)[],
  cells: readonly (readonly string[])[],
): Promise<RowsWritten & { readonly added: number }> {
  if (cells.length > rowsMax)
    throw new Error(`You pasted ${cells.length} rows. Paste at most ${rowsMax}, or import them as a file.`);
  const rows = rowsOfCells(columns, cells);
  const changes = rows.flatMap((after, index) => (seen[index] ? [{ seen: seen[index], after }] : []));
  const added = rows
    .filter((_, index) => !seen[index])
    .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
  const result = await writeRows(table, changes);
  if (result.failure !== undefined || added.length === 0) return { ...result, added: 0 };
  try {
    await table.add(added);
    return { ...result, added: added.length };
  } catch (failure) {
    return { ...result, added: 0, failure };
  }
}
