/** Formats rows of pages as the text of a file. */
import { DelimitedRowWriter, type WrittenColumn } from '../../language/formats/delimited-row-writer.ts';
import { rowIdKey, type RowScanner } from '../../language/formats/row-scanner.ts';
import type { CsvForm } from '../../api/query/language/export-format.ts';
import type { TextFormat } from '../../../clients/file-import/file-format.ts';
import { UserError } from '../user-error.ts';
import { tableChanged } from './table-pages.ts';

export interface ExportWriter {
  /** The text before the rows. */
  begin(): string;
  /** Adds the last scanned row. */
  add(scanner: RowScanner): void;
  /** The text of the rows since the last call. */
  take(): string;
  /** The text after the rows. */
  end(): string;
}

/**
 * The writer for a format. `columns` includes $rowID if row IDs are to be written. Throws UserError if the format
 * cannot have these columns.
 */
export function exportWriterFor(format: TextFormat, columns: readonly WrittenColumn[], csv: CsvForm): ExportWriter {
  const withRowIds = columns.some(({ id }) => id === rowIdKey);
  switch (format) {
    case 'csv':
      return new DelimitedWriter(csv, columns);
    case 'tsv':
      return new DelimitedWriter({ delimiter: '\t', excel: false }, columns);
    case 'json':
      return new JsonWriter({ begin: '[', before: '\n', separator: ',\n', end: '\n]\n' }, withRowIds);
    case 'ndjson':
      return new JsonWriter({ begin: '', before: '', separator: '\n', end: '\n' }, withRowIds);
  }
}

interface Punctuation {
  readonly begin: string;
  /** Before the first row. */
  readonly before: string;
  readonly separator: string;
  /** Begins with the line end of the last row. */
  readonly end: string;
}

/** Rows as the service returns them, one per line. */
class JsonWriter implements ExportWriter {
  readonly #punctuation: Punctuation;
  readonly #withRowIds: boolean;
  #text = '';
  #hasRows = false;

  constructor(punctuation: Punctuation, withRowIds: boolean) {
    this.#punctuation = punctuation;
    this.#withRowIds = withRowIds;
  }

  begin(): string {
    return this.#punctuation.begin;
  }

  add(scanner: RowScanner): void {
    const { before, separator } = this.#punctuation;
    const text = this.#withRowIds ? scanner.text(scanner.row.start, scanner.row.end) : withoutRowId(scanner);
    // JSON has line breaks only between tokens, because strings escape them.
    this.#text += `${this.#hasRows ? separator : before}${/[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, ' ') : text}`;
    this.#hasRows = true;
  }

  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  end(): string {
    const { end } = this.#punctuation;
    return this.#hasRows ? end : end.slice(1);
  }
}

function withoutRowId(scanner: RowScanner): string {
  const { row } = scanner;
  const { columns, starts, ends, count } = row;
  if (columns[0]?.id === rowIdKey && count > 1) {
    const next = scanner.space(ends[0]!) + 1;
    return `{${scanner.text(next, row.end)}`;
  }
  const cells: string[] = [];
  for (let cell = 0; cell < count; cell += 1) {
    const { id } = columns[cell]!;
    if (id !== rowIdKey) cells.push(`${JSON.stringify(id)}:${scanner.text(starts[cell]!, ends[cell]!)}`);
  }
  return `{${cells.join(',')}}`;
}

/** Writes a header, and a line for each row. */
class DelimitedWriter implements ExportWriter {
  readonly #writer: DelimitedRowWriter;
  /** The columns that rows may have. */
  readonly #ids: ReadonlySet<string>;

  constructor({ delimiter, excel }: CsvForm, columns: readonly WrittenColumn[]) {
    if (columns.length === 0)
      throw new UserError('The table has no columns, so CSV and TSV would have no header: use --format ndjson.');
    this.#ids = new Set([rowIdKey, ...columns.map(({ id }) => id)]);
    this.#writer = new DelimitedRowWriter(delimiter, columns, excel);
  }

  /** The header. */
  begin(): string {
    return this.take();
  }

  /** Throws UserError if the row has other columns. */
  add({ row }: RowScanner): void {
    const { bytes, columns, count, start, end } = row;
    for (let cell = 0; cell < count; cell += 1) if (!this.#ids.has(columns[cell]!.id)) throw tableChanged();
    this.#writer.add(bytes.subarray(start, end));
  }

  take(): string {
    return this.#writer.take().toString();
  }

  end(): string {
    return '';
  }
}
