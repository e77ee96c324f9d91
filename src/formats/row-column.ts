/** What is remembered of a column while the rows of one body are read. */
import type { GrowingColumn } from '../values/build-profile.ts';

const noLead = new Uint8Array(0);

export class RowColumn {
  readonly id: string;
  /** The place in the order in which bodies hold the columns; -1 for what is no column (`$rowID`). */
  readonly index: number;
  /** What stood between the comma (or opening brace) and the value when the column's key was last read in full. */
  lead = noLead;
  /** Whether the lead has a line break or tab in it. */
  leadBreaks = false;
  /** The column that is expected after this one. */
  next: RowColumn | null = null;
  /** Whether the column has appeared in this body. */
  met = false;
  /** The attempt at a row that met this column last: meeting it again in the same attempt is a duplicate key. */
  attempt = 0;

  /** The column in the profile of the present block; null while the block has no such column. */
  growing: GrowingColumn | null = null;
  /** The kinds (bits of `storedAs`) of which no value can tell the profile anything new. */
  settled = 0;
  #key: Buffer | null = null;

  constructor(id: string, index: number) {
    this.id = id;
    this.index = index;
  }

  /** The key and its colon, as a body holds them that is not a copy of what was received. */
  get key(): Buffer {
    this.#key ??= Buffer.from(`${JSON.stringify(this.id)}:`);
    return this.#key;
  }

  /** What follows belongs to another block. */
  forgetBlock(): void {
    this.growing = null;
    this.settled = 0;
  }
}
