import type { Cell, Differences } from './differences.ts';
import type { Pair } from './merge.ts';

/** A row that is compared, by the names of its columns. */
export type ComparedRow = Readonly<Record<string, Cell>>;

export interface Labels {
  /** What a row is called, for people, by its keys. */
  readonly name: (row: ComparedRow) => string;
  /** The columns of the key. */
  readonly keys: readonly string[];
  /** The columns that are compared; all but the keys, where that is left out. */
  readonly columns?: readonly string[];
}

/** Compares what both sides have under a key, column by column. */
export function compareCells({ name, keys, columns }: Labels, [expected, found]: Pair<ComparedRow>, differences: Differences): void {
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
