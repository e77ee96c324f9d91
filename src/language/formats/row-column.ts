/** The state of a column while the rows of one body are read. */
import type { GrowingColumn } from '../values/build-profile.ts';

const noLead = new Uint8Array(0);

export class RowColumn {
  readonly id: string;
  /** Its position in the column order of bodies; -1 for `$rowID`, which is no column. */
  readonly index: number;
  /** The bytes between the comma (or opening brace) and the value when the column's key was last read in full. */
  lead = noLead;
  /** Whether the lead contains a line break or tab. */
  leadBreaks = false;
  /** The column that is expected after this one. */
  next: RowColumn | null = null;
  /** Whether the column has appeared in this body. */
  met = false;
  /** The last attempt at a row that met this column. A second time in the same attempt is a duplicate key. */
  attempt = 0;

  /** The column in the profile of the current block; null while the block has no such column. */
  growing: GrowingColumn | null = null;
  /** The kinds (bits of `storedAs`) whose further values cannot change the profile. */
  settled = 0;
  #key: Buffer | null = null;

  constructor(id: string, index: number) {
    this.id = id;
    this.index = index;
  }

  /** The key with its colon, as it is written into a body that is not copied. */
  get key(): Buffer {
    this.#key ??= Buffer.from(`${JSON.stringify(this.id)}:`);
    return this.#key;
  }

  /** Resets the state that belongs to one block. */
  forgetBlock(): void {
    this.growing = null;
    this.settled = 0;
  }
}
