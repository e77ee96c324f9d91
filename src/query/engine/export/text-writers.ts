/** Writes rows as the text of a file. */
import { DelimitedRowWriter, type WrittenColumn } from '../../../formats/delimited-row-writer.ts';
import { eachCell } from '../../../values/row-text.ts';
import { decodeString } from '../../../values/json-text.ts';
import type { ExportFormat } from '../../language/export-format.ts';
import type { RowsQuery } from '../../language/rows-query.ts';
import type { QuerySource } from '../compile.ts';

export type TextFormat = Exclude<ExportFormat, 'parquet'>;

/** A row: its ID, its version, and its body as it is presented. */
export type ExportedRow = readonly [rowId: string, rowVersion: bigint, body: string];

export interface TextWriter {
  /** The text before all rows. */
  readonly begin: string;
  /** The text of rows, which come after those of the calls before. */
  rows(rows: readonly ExportedRow[]): string;
  /** The text behind all rows. */
  readonly end: string;
}

/** `columns`: those of the file, of which the first is `$rowID`. `isPart`: whether rows have more columns. */
export function writerFor(format: TextFormat, columns: readonly WrittenColumn[], isPart: boolean): TextWriter {
  switch (format) {
    case 'csv': return delimited(',', columns);
    case 'tsv': return delimited('\t', columns);
    case 'ndjson': return lines(columns, isPart, { begin: '', separator: '\n', end: '\n' });
    case 'json': return lines(columns, isPart, { begin: '[\n', separator: ',\n', end: '\n]\n' });
  }
}

function delimited(delimiter: ',' | '\t', columns: readonly WrittenColumn[]): TextWriter {
  const writer = new DelimitedRowWriter(delimiter, columns);
  return {
    begin: writer.take(),
    rows: (rows) => {
      for (const [rowId, rowVersion, body] of rows) {
        writer.set('$rowID', `"${rowId}"`);
        writer.set('$version', `"${rowVersion}"`);
        eachCell(body, (key, token) => writer.set(decodeString(key), token));
        writer.endRow();
      }
      return writer.take();
    },
    end: '',
  };
}

interface Punctuation {
  readonly begin: string;
  readonly separator: string;
  /** Begins with the end of the last row's line. */
  readonly end: string;
}

/** A row in each line, as `GET .../rows` shows it. */
function lines(columns: readonly WrittenColumn[], isPart: boolean, { begin, separator, end }: Punctuation): TextWriter {
  const ids = isPart ? new Set(columns.map(({ id }) => id)) : null;
  let hasRows = false;
  return {
    begin,
    rows: (rows) => {
      if (rows.length === 0) return '';
      const text = rows.map(([rowId, rowVersion, body]) => {
        const cells = ids === null ? body : selectFields(body, ids, rowVersion);
        return `{"$rowID":"${rowId}"${cells.length === 2 ? '}' : `,${cells.slice(1)}`}`;
      }).join(separator);
      const before = hasRows ? separator : '';
      hasRows = true;
      return before + text;
    },
    get end() {
      return hasRows ? end : end.slice(1);
    },
  };
}

/** A body with some of its cells only, as they are written, and perhaps with the row's version. */
export function selectFields(body: string, fields: ReadonlySet<string>, rowVersion: bigint): string {
  const cells: string[] = fields.has('$version') ? [`"$version":"${rowVersion}"`] : [];
  eachCell(body, (key, token) => {
    if (fields.has(decodeString(key))) cells.push(`${key}:${token}`);
  });
  return `{${cells.join(',')}}`;
}

/** The columns of a file, or of a page as CSV. `$rowID` always comes, and comes first. */
export function columnsOf(query: RowsQuery, { columns }: QuerySource): WrittenColumn[] {
  const ids = query.fields ?? [...columns.keys()];
  return ['$rowID', ...ids.filter((id) => id !== '$rowID')].map((id) => ({ id, isJson: columns.get(id)?.type === 'json' }));
}
