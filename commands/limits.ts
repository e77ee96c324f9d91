/**
 * Limits that are recorded in the events that they decide. Some of them are settings (docs/spec/decisions.md 2, 3 and
 * 5).
 */
import type { RowLimits, StashLimits, TableLimits } from '../src/language/events/limits.ts';

const columnsMax = 1000;
const rowBytesMax = 512 * 1024;

/** Maximum of columns, summed over the blocks of a stash. An import processes this many in a few seconds. */
const profiledColumnsMax = 2_000_000;

export function rowLimits(rowsPerTableMax: number): RowLimits {
  // A stash needs no limit of its own: a table that shows its rows has at most this many columns.
  return { rowsPerTableMax, columnsMax, rowBytesMax, stashColumnsMax: columnsMax };
}

export function tableLimits(rowsPerTableMax: number, tablesMax: number): TableLimits {
  return { ...rowLimits(rowsPerTableMax), tablesMax };
}

export function stashLimits(limits: Required<Omit<StashLimits, 'profiledColumnsMax'>>): StashLimits {
  return { ...limits, profiledColumnsMax };
}
