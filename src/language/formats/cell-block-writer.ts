/** Cuts rows of cells into blocks. */
import type { RowBlock } from './block-writer.ts';
import { CellBodies } from './cell-bodies.ts';
import { CellProfiler } from './cell-profiler.ts';
import type { DelimitedHeader } from './delimited-header.ts';
import { RowIds } from './row-ids.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';
import type { Rule } from '../values/rule.ts';

/**
 * Rows stay cells until their block is full, because a column is stored as numbers or booleans only if all its cells in
 * the block are numbers or booleans.
 */
export class CellBlockWriter {
  readonly #header: DelimitedHeader;
  readonly #limits: RowReaderLimits;
  readonly #profiler: CellProfiler;
  readonly #ids: RowIds | null;
  #rows: (readonly string[])[] = [];
  #bytesMax = 0;
  #wroteBlock = false;

  constructor(header: DelimitedHeader, limits: RowReaderLimits, retainIds: boolean, counts: boolean, rule: Rule) {
    this.#header = header;
    this.#limits = limits;
    this.#ids = retainIds ? new RowIds() : null;
    this.#profiler = new CellProfiler(header, counts, rule);
    this.#profiler.nameAll();
  }

  /**
   * Adds a row. Returns the previous block if the row does not fit into it.
   * @param cells at most as many as the header has
   * @param bytesMax an upper bound for the UTF-8 bytes of the row's body
   * @param dropped how many cells were left out
   */
  add(cells: readonly string[], bytesMax: number, dropped: number): RowBlock | null {
    const isFull =
      this.#rows.length >= this.#limits.blockRows ||
      (this.#rows.length > 0 && this.#bytesMax + 1 + bytesMax > this.#limits.blockBytes);
    const full = isFull ? this.close() : null;

    this.#ids?.add(cells[this.#header.rowIdAt] || null);
    this.#profiler.add(cells, dropped);
    this.#bytesMax += bytesMax + (this.#rows.length > 0 ? 1 : 0);
    this.#rows.push(cells);
    return full;
  }

  /** Closes the block. Null if it has no rows. But the first block of a body may have only the header's columns. */
  close(): RowBlock | null {
    const rows = this.#rows;
    if (rows.length === 0 && (this.#wroteBlock || this.#header.ordered.length === 0)) return null;
    this.#wroteBlock = true;
    const bodies = new CellBodies(this.#header, this.#bytesMax);
    for (const row of rows) bodies.add(row);
    const profile = this.#profiler.take(bodies.rowBytes, bodies.rowBytesMax);
    this.#rows = [];
    this.#bytesMax = 0;
    return { profile, body: bodies.take(), ids: this.#ids?.take() ?? null };
  }
}
