import type { GridApi } from 'ag-grid-community';

/**
 * Delays changes from elsewhere while somebody edits. The grid closes the editor of a row that gets new data, and would
 * then send the next keys elsewhere.
 */
export class Editing {
  /** How many values are being written. */
  #writes = 0;
  readonly #waiting: (() => void)[] = [];

  /** Shows new rows in these places (`to` exclusive): at once, or when the cell that is edited there is done. */
  show(grid: GridApi | null, from: number, to: number, show: () => void): void {
    const isEdited =
      grid !== null &&
      !grid.isDestroyed() &&
      grid.getEditingCells().some(({ rowIndex }) => rowIndex >= from && rowIndex < to);
    if (isEdited) this.#waiting.push(show);
    else show();
  }

  /**
   * Reads all rows again: at once, or after the edited value is written. Until then the service would return the old
   * value.
   */
  renew(grid: GridApi, renew: () => void): void {
    if (this.#writes > 0 || grid.getEditingCells().length > 0) this.#waiting.push(renew);
    else renew();
  }

  /** Call it when a cell is no longer edited. */
  ended(): void {
    if (this.#writes > 0) return;
    for (const next of this.#waiting.splice(0)) next();
  }

  /** Counts a write while it runs. Rejects as `write` does. */
  async during(write: () => Promise<void>): Promise<void> {
    this.#writes += 1;
    try {
      await write();
    } finally {
      this.#writes -= 1;
      this.ended();
    }
  }
}
