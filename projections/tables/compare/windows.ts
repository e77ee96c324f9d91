/** How much of the extents is read at once. */
import type { ComparedExtent } from './extents.ts';

/** How many rows, or about how many bytes of rows, are read at once. */
export const rowsPerWindow = 10_000;
export const bytesPerWindow = 8 * 1024 * 1024;

/** An upper bound of the bytes of a row, on average over the extent. */
export function rowBytesOf({ changed, bytes, rows, rowBytesMax }: ComparedExtent): number {
  return Math.max(1, changed ? rowBytesMax : Math.ceil(bytes / Math.max(1, rows)));
}

/** How many rows of this size are read at once, at least one. */
export function countAtOnce(rowBytes: number): number {
  return Math.max(1, Math.min(rowsPerWindow, Math.floor(bytesPerWindow / rowBytes)));
}
