/**
 * A profile is what schema decisions need to know of some rows, so that an import of millions of rows can be decided,
 * to the first offending cell, without looking at the rows again (ARCHITECTURE.md, "profile"). It is built once, when
 * the rows arrive, and travels in their event. Patches and reads check values again.
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
 * How the values of a column are written, as bits. A column reads as it is stored if its type presents all of these
 * kinds unchanged.
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
  /** The values came as cells. A number or boolean is stored as one if that is its cell's exact text. */
  cell: 512,
  /**
   * Beside the bit of a number, an array or an object: it is, or holds, an integer that a double cannot hold. No type
   * presents that unchanged.
   */
  bigInteger: 1024,
  /** No kind: the request said the column's type, which is its `natural` one. */
  givenType: 2048,
} as const;

/** How many cells fit exactly these types. */
export type CellCount = readonly [fits: TypeSet, cells: number];

export interface ColumnProfile {
  readonly id: string;
  /** Where the column first appears, even with a null or an empty cell. */
  readonly first: Place;
  /**
   * The least upper bound of the natural types of its values, except empty arrays (see `storedAs`) and values that fit
   * no type. Null if no value remains. If the request said the column's type, it is that.
   */
  readonly natural: ColumnType | null;
  /** Bits of `storedAs`. */
  readonly stored: number;
  /** In order of place; no type is in two of them. */
  readonly misfits: readonly Misfit[];
  /** All of its cells. Only where `dropped` is. */
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
  /** By which rule values fit here, and how cells are written. Of several parts see `joinedRule`. */
  readonly rule: Rule;
  /**
   * How many cells were left out while the rows were read, because no row may hold them. Only of rows that came with
   * `dropColumns`: the cells of others are not counted, which takes time. A part without rows has no cells, and counts
   * as counted.
   */
  readonly dropped?: number;
  /**
   * The rows have no columns, and came without `dropColumns`, so that nothing else tells them from counted ones. Absent
   * in older profiles: those rows count as counted.
   */
  readonly isUncounted?: true;
}
