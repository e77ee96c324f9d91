import type { Differences } from './differences.ts';
import type { Snapshot } from './snapshot.ts';

/** A key. Rows are compared in the order of their keys. */
export type ComparisonKey = readonly (string | number | bigint)[];

export interface ComparedPiece {
  /** How much was compared, by kind. */
  readonly counts: Readonly<Record<string, number>>;
  /** If the snapshots became too old, the last key that was compared; null: everything was compared. */
  readonly next: ComparisonKey | null;
}

/**
 * Compares a part of two read models that needs more than one query, from after a position (null: from the beginning),
 * until a snapshot is old.
 */
export type CompareSnapshots = (
  expected: Snapshot,
  found: Snapshot,
  differences: Differences,
  after: ComparisonKey | null,
) => Promise<ComparedPiece>;

/** SQL: the rows of a query after a position. `values` are its parameters. */
export function queryAfter(
  query: string,
  keys: readonly string[],
  after: ComparisonKey | null,
): { readonly text: string; readonly values: readonly unknown[] } {
  if (after === null) return { text: query, values: [] };
  const columns = keys.map((key) => `"${key}"`).join(', ');
  const places = keys.map((_, at) => `$${at + 1}`).join(', ');
  return {
    text: `select * from (${query}) rows where (${columns}) > (${places}) order by ${columns}`,
    values: after.map(String),
  };
}
