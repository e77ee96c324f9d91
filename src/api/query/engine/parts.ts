/**
 * Where the cells of a copy are. A statement of the engine takes memory for each column that it writes, beside what the
 * engine counts: with 1,000 columns it would map hundreds of megabytes. So a copy with many columns has them in several
 * tables. The first part is with the rows; the others name a row by its number and the version from which on it is
 * shown.
 */
import { isArrayType, type ColumnType } from '../../../language/values/column-type.ts';

/** A column with the part that it is in. */
export interface Placed {
  /** 0: with the rows. */
  readonly part: number;
}

/** The most columns of a part. A list counts as four, because it takes more memory. */
const weightOfPart = 128;
const weightOfList = 4;

/** Gives columns their parts, in the order in which they come. */
export class Parts {
  /** The part that the last column was given. */
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

/** The table with the cells of a part. `table`: that of the rows. */
export function partTable(table: string, part: number): string {
  return part === 0 ? table : `${table}_${part}`;
}

/** The parts of columns beside that of the rows, in order. */
export function partsBeside(columns: Iterable<Placed>): number[] {
  return [...new Set(Array.from(columns, ({ part }) => part))].filter((part) => part > 0).toSorted((a, b) => a - b);
}

/** What to select these columns from: the rows, with the parts that the columns are in. */
export function withParts(table: string, columns: Iterable<Placed>): string {
  const joins = partsBeside(columns).map((part) => ` LEFT JOIN ${partTable(table, part)} USING (n, since)`);
  return `${table}${joins.join('')}`;
}
