/**
 * A profile says what some rows need of a schema, so that an import of millions of rows can be decided, to the first
 * offending cell, without looking at the rows again (ARCHITECTURE.md, "profile"). It is made once, when the rows arrive, and
 * travels in their event. Decisions about schemas use it; patches and reads check values again.
 */
import type { ColumnType, TypeSet } from './column-type.ts';

/** Where a value stands: the row's index (0-based), and the place of its key within that row as it was received. */
export interface Place {
  readonly row: number;
  readonly position: number;
}

/** The first value of a column that does not fit some types. */
export interface Misfit extends Place {
  /** The types for which this is the first value that does not fit. */
  readonly types: TypeSet;
  /**
   * The scalar types T (bits 0 to 14) for which this is the first value that fits neither T nor array of T: such a value
   * cannot be wrapped into an array column either (decisions section 6).
   */
  readonly wrapped: TypeSet;
  /** The value as JSON text, cut to 60 characters, for the error message. */
  readonly value: string;
}

/**
 * How the values of a column are written, as a set of bits. A column is read back as it is stored when its type
 * presents all of these kinds unchanged.
 */
export const storedAs = {
  string: 1,
  number: 2,
  boolean: 4,
  /** `[]` */
  emptyArray: 8,
  /** Arrays of strings only; of numbers only; of booleans only; of anything else. */
  stringArray: 16,
  numberArray: 32,
  booleanArray: 64,
  otherArray: 128,
  object: 256,
  /** The values came as the texts of cells. A number or boolean is stored as one where that is its cell's text exactly. */
  cell: 512,
} as const;

export interface ColumnProfile {
  readonly id: string;
  /** Where the column appears first, with a null or an empty cell too. */
  readonly first: Place;
  /**
   * The least upper bound of the natural types of its values; of an empty array nothing is taken here (see `storedAs`),
   * nor of a value that fits no type. Null when there is nothing to take.
   */
  readonly natural: ColumnType | null;
  /** Bits of `storedAs`. */
  readonly stored: number;
  /** In order of place; no type stands in two of them. */
  readonly misfits: readonly Misfit[];
}

export interface Profile {
  readonly rows: number;
  /** Bytes of the row bodies, in UTF-8, without separators. */
  readonly bytes: number;
  /** Bytes of the longest row body. */
  readonly rowBytesMax: number;
  /** In the order in which the bodies hold them; `first` tells the order of appearance. */
  readonly columns: readonly ColumnProfile[];
}
