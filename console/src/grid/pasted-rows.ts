/** Turns pasted cells into values of columns. */
import type { AnyRow } from '../../../clients/typescript/src/index.ts';
import { textOfType, titleOf, type Column } from '../tables/column-types.ts';
import { showCount } from '../ui/format.ts';
import { cellOfText } from './cell-text.ts';

/**
 * The values of pasted lines. Throws an Error that names the line, from 1, of the first cell that fits no column. Cells
 * after the last column must be empty.
 */
export function rowsOfCells(columns: readonly Column[], lines: readonly (readonly string[])[]): AnyRow[] {
  const isWide = lines.some((cells) => cells.length > 1);
  return lines.map((cells, index) => {
    const place = `Line ${index + 1}`;
    if (cells.slice(columns.length).some((text) => text !== '')) {
      throw new Error(
        `${place} has ${cells.length} cells, but only ${showCount(columns.length, 'column')} can take them. Nothing was changed.`,
      );
    }
    return Object.fromEntries(
      columns.slice(0, cells.length).map((column, at) => {
        try {
          return [column.id, cellOfText(textOfType(column.type), cells[at]!)];
        } catch (error) {
          throw new Error(
            `${place}${isWide ? `, column ${titleOf(column)}` : ''}: ${(error as Error).message} Nothing was changed.`,
            { cause: error },
          );
        }
      }),
    );
  });
}
