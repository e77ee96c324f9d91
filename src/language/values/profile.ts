/**
 * A profile contains everything about some rows that schema decisions need. With it, an import of millions of rows is
 * decided, to the first offending cell, without reading the rows again. It is built once, when the rows arrive, and
 * travels in their event. Patches and reads check values again.
 */
import type { ColumnType, TypeSet } from './column-type.ts';
import type { Rule } from './rule.ts';

/** The place of a value: the row's index (0-based), and the position of its key within that row as received. */
export interface Place {
  readonly row: number;
  readonly position: number;
}

/** The first value of a column that does not fit some types. */
export interface Misfit extends Place {
  /** The types for which this is the first value that does not fit. */
  readonly types: TypeSet;
  /**
   * The scalar types T (bits 0 to 14) for which this is the first value that fits neither T nor array of T: it cannot
   * be wrapped into an array column either (decisions section 6).
   */
  readonly wrapped: TypeSet;
  /** The value as JSON text, cut to 60 characters, for the error message. */
  readonly value: string;
}

/**
 * How the values of a column are stored, as bits. A column reads as it is stored if its type presents all of these
 * kinds unchanged.
 */
export const storedAs = {
  string: 1,
  number: 2,
  boolean: 4,
  /** `[]` */
  emptyArray: 8,
  /** Arrays of only strings; of only numbers; of only booleans; of anything else. */
  stringArray: 16,
  numberArray: 32,
  booleanArray: 64,
  otherArray: 128,
  object: 256,
  /** The values came as cells. A number or boolean is stored as such if it is exactly its cell's text. */
  cell: 512,
  /**
   * Set with the bit of a number, an array or an object that is, or contains, an integer that a double cannot hold. No
   * type presents such a value unchanged.
   */
  bigInteger: 1024,
  /** This bit is not a kind: the request states the column's type, and `natural` is that type. */
  givenType: 2048,
} as const;

/** How many cells fit exactly these types. */
export type CellCount = readonly [fits: TypeSet, cells: number];

export interface ColumnProfile {
  readonly id: string;
  /** Where the column first appears, even with a null or an empty cell. */
  readonly first: Place;
  /**
   * The least upper bound of the natural types of its values, without empty arrays (see `storedAs`) and without values
   * that fit no type. Null if no value remains. If the request states the column's type, it is that type.
   */
  readonly natural: ColumnType | null;
  /** Bits of `storedAs`. */
  readonly stored: number;
  /** In order of place. No type is in two of them. */
  readonly misfits: readonly Misfit[];
  /** The counts of all its cells. Present only if `dropped` is. */
  readonly counts?: readonly CellCount[];
}

export interface Profile {
  readonly rows: number;
  /** Bytes of the row bodies, in UTF-8, without separators. */
  readonly bytes: number;
  /** Bytes of the longest row body. */
  readonly rowBytesMax: number;
  /** In the column order of bodies; `first` gives the order of appearance. */
  readonly columns: readonly ColumnProfile[];
  /** The rule by which values fit, and how cells are written. For several parts see `joinedRule`. */
  readonly rule: Rule;
  /**
   * How many cells were dropped while the rows were read, because no row may hold them. Present only for rows that came
   * with `dropColumns`: counting takes time. A part without rows has no cells, and counts as counted.
   */
  readonly dropped?: number;
  /**
   * Set for rows without columns that came without `dropColumns`, because nothing else distinguishes them from counted
   * ones. Absent in older profiles: their rows count as counted.
   */
  readonly isUncounted?: true;
}
