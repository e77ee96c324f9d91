/**
 * Distributes the columns of a copy over tables. A statement takes uncounted memory for each column that it writes:
 * with 1,000 columns it would map hundreds of megabytes. So a copy with many columns has several tables (parts). The
 * first part also has the rows. The others identify a row by its number and by the version from which on it is visible.
 */
import { isArrayType, type ColumnType } from '../../../language/values/column-type.ts';

/** A column and its part. */
export interface Placed {
  /** The number of the part; 0: the table of the rows. */
  readonly part: number;
}

/** The maximum number of columns in a part. A list counts as four, because it takes more memory. */
const weightOfPart = 128;
const weightOfList = 4;

/** Assigns parts to columns, in the order of the calls. */
export class Parts {
  /** The part of the last column. */
  last = 0;
  #weight = 0;

  next(type: ColumnType): number {
    const weight = isArrayType(type) ? weightOfList : 1;
    if (this.#weight + weight > weightOfPart) {
      this.last += 1;
      this.#weight = 0;
    }
    this.#weight += weight;
    return this.last;
  }
}

/** Whether columns of these types need several parts. */
export function areMany(types: readonly ColumnType[]): boolean {
  const parts = new Parts();
  for (const type of types) parts.next(type);
  return parts.last > 0;
}

/** The name of a part's table. `table` is the table of the rows. */
export function partTable(table: string, part: number): string {
  return part === 0 ? table : `${table}_${part}`;
}

/** The parts of these columns except the first part, in order. */
export function partsBeside(columns: Iterable<Placed>): number[] {
  return [...new Set(Array.from(columns, ({ part }) => part))].filter((part) => part > 0).toSorted((a, b) => a - b);
}

/** The FROM for these columns: the rows, joined with the parts of the columns. */
export function withParts(table: string, columns: Iterable<Placed>): string {
  const joins = partsBeside(columns).map((part) => ` LEFT JOIN ${partTable(table, part)} USING (n, since)`);
  return `${table}${joins.join('')}`;
}
