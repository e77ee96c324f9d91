/** A part of a read model that replay must reproduce: a query whose rows are compared by key. */
import { compareCells, type ComparedRow, type Labels } from './compare-cells.ts';
import { queryAfter, type ComparisonKey } from './comparison.ts';
import type { Differences } from './differences.ts';
import { merge, positionOf } from './merge.ts';
import type { Snapshot } from './snapshot.ts';

/** How many rows of a section are in memory at once, on each side. */
const rowsAtOnce = 200;

export interface Section extends Labels {
  /** The name of its rows, in the plural. */
  readonly what: string;
  /**
   * The column with the owner of a row: a partition, a team, or a unit that has a digest of its own
   * (digested-units.ts).
   */
  readonly owner: string;
  /** Selects the keys and the compared columns, sorted by key: numbers by value, texts by their collation "C". */
  readonly query: string;
  /**
   * For sections in which a partition has many rows that mostly stay the same. Each block of rows has a digest of its
   * own, and only changed blocks are read again.
   */
  readonly blocks?: SectionBlocks;
}

/** SQL expressions over the columns of the section's query. One of these columns is `partition`. */
export interface SectionBlocks {
  /** The number of the block that a row is in. */
  readonly number: string;
  /** An aggregate of the rows of a block: while it stays the same, no row was added, replaced or removed. */
  readonly fingerprint: string;
}

/** Join this on `partition` to get the log time of each partition, for rows that are kept for a limited time. */
export const logTimes = 'progress as last';

/**
 * Compares the rows after a position. Resolves to the position from which another pair of snapshots continues; null:
 * done.
 */
export async function compareSection(
  section: Section,
  expected: Snapshot,
  found: Snapshot,
  differences: Differences,
  after: ComparisonKey | null,
): Promise<ComparisonKey | null> {
  const { text, values } = queryAfter(section.query, section.keys, after);
  const streams = [
    expected.stream<ComparedRow>(text, rowsAtOnce, values),
    found.stream<ComparedRow>(text, rowsAtOnce, values),
  ] as const;
  let compared = 0;
  for await (const pair of merge(...streams, section.keys)) {
    compareCells(section, pair, differences);
    if (differences.full) return null;
    compared += 1;
    if (compared % rowsAtOnce === 0 && (expected.isOld || found.isOld)) return positionOf(pair, section.keys);
  }
  return null;
}
