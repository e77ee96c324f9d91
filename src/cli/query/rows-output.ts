/** What `tablog query` and `tablog sql` write: rows to stdout, and how many to stderr. */
import type { WrittenColumn } from '../../language/formats/delimited-row-writer.ts';
import { writeWords } from '../console.ts';
import { writerFor, type RowWriter } from '../export/row-writer.ts';
import { plainCsv } from '../../api/query/language/export-format.ts';
import type { TextFormat } from '../../../clients/file-import/file-format.ts';
import { showNumber } from '../rows-progress.ts';
import { TableWriter } from './table-writer.ts';

export interface RowsOutputFlags {
  readonly format?: 'table' | TextFormat;
  readonly limit?: number;
}

/** How many rows are written if nothing says how many: to a terminal, and as a table, whose rows are held in memory. */
const limitForPeople = 100;

/** Of a terminal that does not tell its width. */
const widthDefault = 80;

interface RowsOutput {
  /** How many rows are written at most. */
  readonly limit: number;
  /** Throws UserError if the format does not support these columns. */
  readonly writerOf: (columns: readonly WrittenColumn[]) => RowWriter;
}

/** How rows are written to this stdout. */
export function rowsOutput(
  { format, limit }: RowsOutputFlags,
  { isTTY, columns: width }: NodeJS.WriteStream = process.stdout,
): RowsOutput {
  const used = format ?? (isTTY ? 'table' : 'csv');
  return {
    limit: limit ?? (isTTY || used === 'table' ? limitForPeople : Infinity),
    writerOf: (columns) =>
      used === 'table'
        ? new TableWriter(columns, isTTY ? width || widthDefault : Infinity)
        : writerFor(used, columns, plainCsv),
  };
}

/** Says how many rows were written. `more`: what else there is to say of them. */
export function sayRows(
  { rows, hasMore }: { readonly rows: number; readonly hasMore: boolean },
  noun: string,
  more = '',
): void {
  const count = `${showNumber(rows)} ${noun}${rows === 1 ? '' : 's'}`;
  writeWords(hasMore ? `The first ${count}${more}; --limit gives more.` : `${count}${more}.`);
}
