/** Cells on their way to and from other programs: as lines with tabs. */
import Papa from 'papaparse';
import type { AnyRow, Table } from '../../../clients/typescript/src/index.ts';
import { eachInParallel } from '../../../src/each-in-parallel.ts';
import { textOfType, titleOf, type Column } from '../tables/column-types.ts';
import { cellOfText, textOfCell } from './cell-text.ts';
import type { GridRow } from './rows-reader.ts';

interface CopyEvent {
  readonly clipboardData: DataTransfer;
  preventDefault(): void;
}

/** The most rows that are pasted at once; more are a file. */
const rowsMax = 10_000;
const parallel = 6;

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

/** Writes lines of cells over rows; lines that have no row (null) become new ones. Throws for the first cell that fits no column, before anything is changed. */
export async function pasteRows(
  table: Table, columns: readonly Column[], rowIDs: readonly (string | null)[], cells: readonly (readonly string[])[],
): Promise<{ readonly changed: number; readonly added: number }> {
  if (cells.length > rowsMax) throw new Error(`These are ${cells.length} rows: paste ${rowsMax} at most, or import them as a file.`);
  const rows = cells.map((line, index) => rowOf(columns, line, index));
  const changes = rows.flatMap((row, index) => (rowIDs[index] ? [{ rowID: rowIDs[index], row }] : []));
  const added = rows.filter((_, index) => !rowIDs[index]).map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
  await eachInParallel(oneByOne(changes), parallel, async ({ rowID, row }) => {
    await table.patch(rowID, row);
  }, () => undefined);
  if (added.length > 0) await table.add(added);
  return { changed: changes.length, added: added.length };
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

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}
