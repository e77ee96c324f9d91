/**
 * Limits, some of them settings, as they are recorded in the events that are decided by them (docs/spec/decisions.md 2,
 * 3 and 5).
 */
import type { RowLimits, StashLimits, TableLimits } from '../src/language/events/limits.ts';

const columnsMax = 1000;
const rowBytesMax = 512 * 1024;

/** Limit of columns, summed over the blocks of a stash: an import goes through this many in a few seconds. */
const profiledColumnsMax = 2_000_000;

export function rowLimits(rowsPerTableMax: number): RowLimits {
  // Of a stash, a table can show no more.
  return { rowsPerTableMax, columnsMax, rowBytesMax, stashColumnsMax: columnsMax };
}

export function tableLimits(rowsPerTableMax: number, tablesMax: number): TableLimits {
  return { ...rowLimits(rowsPerTableMax), tablesMax };
}

export function stashLimits(limits: Required<Omit<StashLimits, 'profiledColumnsMax'>>): StashLimits {
  return { ...limits, profiledColumnsMax };
}
