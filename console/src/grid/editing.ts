import type { GridApi } from 'ag-grid-community';

/**
 * Lets what has changed elsewhere wait while somebody edits: the grid closes the editor of a row that gets new data,
 * and the keys that come then go elsewhere.
 */
export class Editing {
  /** How many values are on their way to the service. */
  #writes = 0;
  readonly #waiting: (() => void)[] = [];

  /** Shows new rows in these places (`to` exclusive): at once, or after the cell that is edited there. */
  show(grid: GridApi | null, from: number, to: number, show: () => void): void {
    const isEdited =
      grid !== null &&
      !grid.isDestroyed() &&
      grid.getEditingCells().some(({ rowIndex }) => rowIndex >= from && rowIndex < to);
    if (isEdited) this.#waiting.push(show);
    else show();
  }

  /**
   * Reads all rows anew: at once, or after what is edited is written. Until then the service would give back what was
   * there before.
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

  /** Writes a value; never rejects unless `write` does. */
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
