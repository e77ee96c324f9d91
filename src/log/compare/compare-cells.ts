import type { ReadModelValue, Differences } from './differences.ts';
import type { Pair } from './merge.ts';

/** A compared row, by column name. */
export type ComparedRow = Readonly<Record<string, ReadModelValue>>;

export interface Labels {
  /** A name for the row in messages, made from its keys. */
  readonly name: (row: ComparedRow) => string;
  /** The columns of the key. */
  readonly keys: readonly string[];
  /** The columns to compare; by default all but the keys. */
  readonly columns?: readonly string[];
}

/** Compares the two rows of a key, column by column. */
export function compareCells(
  { name, keys, columns }: Labels,
  [expected, found]: Pair<ComparedRow>,
  differences: Differences,
): void {
  if (expected === null || found === null) {
    differences.add(name((expected ?? found)!), expected && 'it to be there', found && 'it');
    return;
  }
  for (const column of columns ?? Object.keys(expected).filter((each) => !keys.includes(each))) {
    if (!(column in expected)) throw new Error(`there is no column ${column} to compare`);
    const [a, b] = [expected[column], found[column]];
    if (a !== b) differences.add(`${name(expected)}: ${column}`, a, b);
  }
}
