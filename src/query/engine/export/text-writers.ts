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
  readonly begin: string;
  /** The text of rows, which come after those of the calls before. `rows`: a line each, as `GET .../rows` shows them. */
  lines(rows: string): string;
  /** The text behind all rows. */
  readonly end: string;
}

/** `columns`: those of the file. `isPart`: whether rows have more columns. */
export function writerFor(format: TextFormat, columns: readonly WrittenColumn[], isPart: boolean): TextWriter {
  const ids = isPart ? new Set(columns.map(({ id }) => id)) : null;
  switch (format) {
    case 'csv': return delimited(',', columns);
    case 'tsv': return delimited('\t', columns);
    case 'ndjson': return { begin: '', lines: (rows) => `${selected(rows, ids)}\n`, end: '' };
    case 'json': return jsonArray(ids);
  }
}

function delimited(delimiter: ',' | '\t', columns: readonly WrittenColumn[]): TextWriter {
  const writer = new DelimitedRowWriter(delimiter, columns);
  return {
    begin: writer.take(),
    lines: (rows) => {
      for (const row of eachLine(rows)) {
        writer.setAll(row);
        writer.endRow();
      }
      return writer.take();
    },
    end: '',
  };
}

function jsonArray(ids: ReadonlySet<string> | null): TextWriter {
  let before = '\n';
  return {
    begin: '[',
    lines: (rows) => {
      const text = before + selected(rows, ids).replaceAll('\n', ',\n');
      before = ',\n';
      return text;
    },
    end: '\n]\n',
  };
}

/** The rows with these columns only; null: all. */
function selected(rows: string, ids: ReadonlySet<string> | null): string {
  return ids === null ? rows : [...eachLine(rows)].map((row) => selectFields(row, ids)).join('\n');
}

function* eachLine(text: string): Generator<string> {
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    yield text.slice(start, end);
    start = end + 1;
  }
  yield text.slice(start);
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
