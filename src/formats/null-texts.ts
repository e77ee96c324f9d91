/** Cells whose texts a person said to mean that a cell is empty. */
import type { DelimitedRecord, Delimiter } from './delimited-records.ts';

const quoteMark = '"';

/** The record, in which cells with these texts are empty, unless they are quoted. Most records have none. */
export function emptyOf(record: DelimitedRecord, nulls: ReadonlySet<string>, delimiter: Delimiter): DelimitedRecord {
  const { cells, text } = record;
  if (!cells.some((cell) => nulls.has(cell))) return record;
  const areQuoted = text.includes(quoteMark) ? quotedCells(text, delimiter) : [];
  return { ...record, cells: cells.map((cell, position) => (nulls.has(cell) && areQuoted[position] !== true ? '' : cell)) };
}

/** For each cell of a well-formed record, whether it is quoted. */
function quotedCells(text: string, delimiter: Delimiter): boolean[] {
  const areQuoted: boolean[] = [];
  for (let start = 0; start <= text.length;) {
    const isQuoted = text[start] === quoteMark;
    areQuoted.push(isQuoted);
    const end = text.indexOf(delimiter, isQuoted ? behindQuotes(text, start) : start);
    if (end === -1) break;
    start = end + 1;
  }
  return areQuoted;
}

/** The index after the closing quote of the cell that begins at `start`. */
function behindQuotes(text: string, start: number): number {
  let at = text.indexOf(quoteMark, start + 1);
  while (text[at + 1] === quoteMark) at = text.indexOf(quoteMark, at + 2);
  return at + 1;
}
