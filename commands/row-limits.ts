/** The limits that are no settings (decisions 2): they are stamped into the events that are decided by them. */
import type { RowLimits } from '../src/events/event.ts';

const columnsMax = 1000;
const rowBytesMax = 512 * 1024;

export function rowLimits(rowsPerTableMax: number): RowLimits {
  return { rowsPerTableMax, columnsMax, rowBytesMax };
}
