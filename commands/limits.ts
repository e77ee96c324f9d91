/** Limits, some of them settings, as they are recorded in the events that are decided by them (docs/spec/decisions.md 2, 3 and 5). */
import type { RowLimits, StashLimits, UploadLimits } from '../src/events/event.ts';

const columnsMax = 1000;
const rowBytesMax = 512 * 1024;

/** Limit of columns, summed over the blocks of a stash: an import goes through this many in a few seconds. */
const profiledColumnsMax = 2_000_000;

export function rowLimits(rowsPerTableMax: number): RowLimits {
  // Of a stash, a table can show no more.
  return { rowsPerTableMax, columnsMax, rowBytesMax, stashColumnsMax: columnsMax };
}

export function stashLimits(lifeMs: number, chunksMax: number, rowsMax: number): StashLimits {
  return { lifeMs, chunksMax, rowsMax, profiledColumnsMax };
}

export function uploadLimits(sizeMax: number, lifeMs: number, unclaimedLifeMs: number, openMax: number): UploadLimits {
  return { sizeMax, lifeMs, unclaimedLifeMs, openMax };
}
