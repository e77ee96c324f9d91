/** Cells whose texts a person said to mean that a cell is empty. */
import type { DelimitedRecord } from './delimited-records.ts';

/** The record, in which cells with these texts are empty, unless they are quoted. Most records have none. */
export function emptyOf(record: DelimitedRecord, nulls: ReadonlySet<string>): DelimitedRecord {
  const { cells, quoted } = record;
  if (!cells.some((cell) => nulls.has(cell))) return record;
  return {
    ...record,
    cells: cells.map((cell, position) => (nulls.has(cell) && quoted?.[position] !== true ? '' : cell)),
  };
}
