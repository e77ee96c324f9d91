/** Writes rows as the text of a file. */
import { DelimitedRowWriter, type WrittenColumn } from '../../../formats/delimited-row-writer.ts';
import { eachCell } from '../../../values/row-text.ts';
import { decodeString } from '../../../values/json-text.ts';
import type { ExportFormat } from '../../language/export-format.ts';
import type { RowsQuery } from '../../language/rows-query.ts';
import type { QuerySource } from '../compile.ts';

export type TextFormat = Exclude<ExportFormat, 'parquet'>;

export interface TextWriter {
  /** The text before all rows. */
  readonly begin: Buffer | string;
  /** What is between two rows that are given. */
  readonly separator: string;
  /** The text of rows, which come after those of the calls before. `rows`: as `GET .../rows` shows them, in UTF-8. */
  write(rows: Buffer): readonly (Buffer | string)[];
  /** The text behind all rows. */
  readonly end: string;
}

/** `columns`: those of the file. `isPart`: whether rows have more columns. */
export function writerFor(format: TextFormat, columns: readonly WrittenColumn[], isPart: boolean): TextWriter {
  const ids = isPart ? new Set(columns.map(({ id }) => id)) : null;
  switch (format) {
    case 'csv': return delimited(',', columns);
    case 'tsv': return delimited('\t', columns);
    case 'ndjson': return { begin: '', separator: '\n', write: (rows) => [selected(rows, '\n', ids), '\n'], end: '' };
    case 'json': return jsonArray(ids);
  }
}

function delimited(delimiter: ',' | '\t', columns: readonly WrittenColumn[]): TextWriter {
  const writer = new DelimitedRowWriter(delimiter, columns);
  return {
    begin: writer.take(),
    separator: '\n',
    write: (rows) => {
      writer.add(rows);
      return [writer.take()];
    },
    end: '',
  };
}

function jsonArray(ids: ReadonlySet<string> | null): TextWriter {
  const separator = ',\n';
  let before = '\n';
  return {
    begin: '[',
    separator,
    write: (rows) => {
      const parts = [before, selected(rows, separator, ids)];
      before = separator;
      return parts;
    },
    end: '\n]\n',
  };
}

/** The rows with these columns only; null: all. */
function selected(rows: Buffer, separator: string, ids: ReadonlySet<string> | null): Buffer | string {
  return ids === null ? rows : rows.toString().split(separator).map((row) => selectFields(row, ids)).join(separator);
}

/** A row with some of its cells only, as they are written. */
export function selectFields(row: string, fields: ReadonlySet<string>): string {
  const cells: string[] = [];
  eachCell(row, (key, token) => {
    if (fields.has(decodeString(key))) cells.push(`${key}:${token}`);
  });
  return `{${cells.join(',')}}`;
}

/** The columns of a file, or of a page as CSV. `$rowID` always comes, and comes first. */
export function columnsOf(query: RowsQuery, { columns }: QuerySource): WrittenColumn[] {
  const ids = query.fields ?? [...columns.keys()];
  return ['$rowID', ...ids.filter((id) => id !== '$rowID')].map((id) => ({ id, isJson: columns.get(id)?.type === 'json' }));
}
