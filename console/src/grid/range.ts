/** A selected block of cells: from the cell where the selection began to the focused one. */

export interface CellPlace {
  readonly row: number;
  readonly columnID: string;
}

export interface Block {
  readonly top: number;
  readonly bottom: number;
  /** IDs of columns, in the order on the screen. */
  readonly columns: readonly string[];
}

/** The block between two cells. `shown`: the columns in the order on the screen. */
export function blockBetween(from: CellPlace, to: CellPlace, shown: readonly string[]): Block {
  const [a, b] = [shown.indexOf(from.columnID), shown.indexOf(to.columnID)];
  return {
    top: Math.min(from.row, to.row),
    bottom: Math.max(from.row, to.row),
    columns: shown.slice(Math.min(a, b), Math.max(a, b) + 1),
  };
}

export function isWithin({ top, bottom, columns }: Block, { row, columnID }: CellPlace): boolean {
  return row >= top && row <= bottom && columns.includes(columnID);
}

/** Whether the block has more than one cell. Only such a block is drawn. */
export function hasSeveral(block: Block | null): block is Block {
  return block !== null && (block.top !== block.bottom || block.columns.length > 1);
}

/**
 * Pasted lines of cells, repeated so that they fill the block, as spreadsheets do. If they do not fit a whole number of
 * times, they stay as they are.
 */
export function filling(
  cells: readonly (readonly string[])[],
  { top, bottom, columns }: Block,
): readonly (readonly string[])[] {
  const [rows, width] = [bottom - top + 1, cells[0]?.length ?? 0];
  const fits = cells.length > 0 && width > 0 && rows % cells.length === 0 && columns.length % width === 0;
  if (!fits || cells.some((line) => line.length !== width)) return cells;
  return Array.from({ length: rows }, (_, row) =>
    columns.map((_id, column) => cells[row % cells.length]![column % width]!),
  );
}
