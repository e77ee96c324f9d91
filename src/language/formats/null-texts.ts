/** Empties cells whose texts mean an empty cell. */
import type { DelimitedRecord } from './delimited-records.ts';

/** The record with its unquoted cells of these texts made empty. Most records have no such cell. */
export function emptyOf(record: DelimitedRecord, nulls: ReadonlySet<string>): DelimitedRecord {
  const { cells, quoted } = record;
  if (!cells.some((cell) => nulls.has(cell))) return record;
  return {
    ...record,
    cells: cells.map((cell, position) => (nulls.has(cell) && quoted?.[position] !== true ? '' : cell)),
  };
}
