/** Output of `tablog query` and `tablog sql`: rows to stdout, and their number to stderr. */
import type { WrittenColumn } from '../../language/formats/delimited-row-writer.ts';
import { writeWords } from '../console.ts';
import { exportWriterFor, type ExportWriter } from '../export/export-writer.ts';
import { plainCsv } from '../../api/query/language/export-format.ts';
import type { TextFormat } from '../../../clients/file-import/file-format.ts';
import { showNumber } from '../rows-progress.ts';
import { TableWriter } from './table-writer.ts';

export interface RowsOutputFlags {
  readonly format?: 'table' | TextFormat;
  readonly limit?: number;
}

/** The default limit of rows on a terminal, and for `table`, which holds all rows in memory. */
const limitForPeople = 100;

/** The width to assume if the terminal reports none. */
const widthDefault = 80;

interface RowsOutput {
  /** The maximum number of rows to write. */
  readonly limit: number;
  /** Throws UserError if the format does not support these columns. */
  readonly writerOf: (columns: readonly WrittenColumn[]) => ExportWriter;
}

/** Chooses the format and the limit for this stdout. */
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
        : exportWriterFor(used, columns, plainCsv),
  };
}

/** Writes the number of rows to stderr. `more` is appended to it. */
export function sayRows(
  { rows, hasMore }: { readonly rows: number; readonly hasMore: boolean },
  noun: string,
  more = '',
): void {
  const count = `${showNumber(rows)} ${noun}${rows === 1 ? '' : 's'}`;
  writeWords(hasMore ? `The first ${count}${more}; use --limit to get more.` : `${count}${more}.`);
}
