import type { ResultRow } from '../../../src/database/pipelined-client.ts';
import type { Differences } from './differences.ts';
import type { Pair } from './merge.ts';

export interface Labels {
  /** What a row is called, for people, by its keys. */
  readonly name: (row: ResultRow) => string;
  /** How many of the first columns are the key. */
  readonly keys: number;
  /** The columns behind the key. */
  readonly columns: readonly string[];
}

/** Compares what both sides have under a key, column by column. */
export function compareCells({ name, keys, columns }: Labels, [expected, found]: Pair, differences: Differences): void {
  if (expected === null || found === null) {
    differences.add(name((expected ?? found)!), expected && 'it to be there', found && 'it');
    return;
  }
  columns.forEach((column, at) => {
    const [a, b] = [expected[keys + at], found[keys + at]];
    if (a !== b) differences.add(`${name(expected)}: ${column}`, a, b);
  });
}
