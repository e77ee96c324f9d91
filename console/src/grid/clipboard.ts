/** Copies cells to and from other programs, as lines with tabs. */
import type { Column } from '../tables/column-types.ts';
import { textOfCell } from './cell-text.ts';
import type { RowWrites, SeenRow } from './guarded-rows.ts';
import { rowsOfCells } from './pasted-rows.ts';
import type { GridRow } from './rows-reader.ts';
import { cellsOfText, textOfCells } from './tabbed-text.ts';

interface CopyEvent {
  readonly clipboardData: DataTransfer;
  preventDefault(): void;
}

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
 * What pasted lines of cells write over the rows on the screen. A line without a row (null) becomes a new row. Throws
 * an Error for the first cell that fits no column.
 */
export function pastedWrites(
  columns: readonly Column[],
  seen: readonly (SeenRow | null)[],
  cells: readonly (readonly string[])[],
): RowWrites {
  const rows = rowsOfCells(columns, cells);
  return {
    changes: rows.flatMap((after, index) => (seen[index] ? [{ seen: seen[index], after }] : [])),
    added: rows
      .filter((_, index) => !seen[index])
      .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))),
  };
}
