/** Cells on their way to and from other programs: as lines with tabs. */
import Papa from 'papaparse';
import type { AnyRow, Table } from '../../../clients/typescript/src/index.ts';
import { textOfType, titleOf, type Column } from '../tables/column-types.ts';
import { cellOfText, textOfCell } from './cell-text.ts';
import { writeRows, type RowsWritten, type SeenRow } from './guarded-rows.ts';
import type { GridRow } from './rows-reader.ts';

interface CopyEvent {
  readonly clipboardData: DataTransfer;
  preventDefault(): void;
}

/** The most rows that are pasted at once; more are a file. */
const rowsMax = 10_000;

export function writeClipboard(event: CopyEvent, rows: readonly GridRow[], columns: readonly string[]): void {
  event.preventDefault();
  event.clipboardData.setData('text/plain', Papa.unparse(rows.map((row) => columns.map((id) => textOfCell(row[id]))), { delimiter: '\t', newline: '\n' }));
}

/** The cells by line. */
export function readClipboard(event: CopyEvent): string[][] {
  event.preventDefault();
  const text = event.clipboardData.getData('text/plain').replace(/\r?\n$/, '');
  return Papa.parse<string[]>(text, { delimiter: '\t' }).data;
}

/**
 * Writes lines of cells over rows as they are seen; lines that have no row (null) become new ones, unless the service refuses a change. Throws for the first
 * cell that fits no column, before anything is changed.
 */
export async function pasteRows(
  table: Table, columns: readonly Column[], seen: readonly (SeenRow | null)[], cells: readonly (readonly string[])[],
): Promise<RowsWritten & { readonly added: number }> {
  if (cells.length > rowsMax) throw new Error(`These are ${cells.length} rows: paste ${rowsMax} at most, or import them as a file.`);
  const rows = cells.map((line, index) => rowOf(columns, line, index));
  const changes = rows.flatMap((after, index) => (seen[index] ? [{ seen: seen[index], after }] : []));
  const added = rows.filter((_, index) => !seen[index]).map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
  const result = await writeRows(table, changes);
  if (result.failure !== undefined || added.length === 0) return { ...result, added: 0 };
  try {
    await table.add(added);
    return { ...result, added: added.length };
  } catch (failure) {
    return { ...result, added: 0, failure };
  }
}

function rowOf(columns: readonly Column[], cells: readonly string[], line: number): AnyRow {
  return Object.fromEntries(columns.slice(0, cells.length).map((column, index) => {
    try {
      return [column.id, cellOfText(textOfType(column.type), cells[index]!)];
    } catch (error) {
      throw new Error(`Line ${line + 1}, column ${titleOf(column)}: ${(error as Error).message} Nothing was changed.`, { cause: error });
    }
  }));
}
