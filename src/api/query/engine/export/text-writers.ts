/** Writes rows as the text of a file. */
import { DelimitedRowWriter, type WrittenColumn } from '../../../../language/formats/delimited-row-writer.ts';
import { eachCell } from '../../../../language/values/row-text.ts';
import { decodeString } from '../../../../language/values/json-text.ts';
import type { CsvForm, ExportFormat } from '../../language/export-format.ts';
import type { RowsQuery } from '../../language/rows-query.ts';
import type { QuerySource } from '../compile.ts';
import type { SheetColumn } from './sheet-cells.ts';
import { SheetWriter } from './sheet-writer.ts';
import type { TextWriter } from './text-writer.ts';

/** The formats that are written row by row, including the sheet of a workbook. */
export type TextFormat = Exclude<ExportFormat, 'parquet'>;

/** A column of a file. */
export type FileColumn = WrittenColumn & SheetColumn;

/** The writer for a format. `columns` are the columns of the file; `isPart`: whether rows have more columns. */
export function textWriterFor(
  format: TextFormat,
  columns: readonly FileColumn[],
  isPart: boolean,
  csv: CsvForm,
): TextWriter {
  switch (format) {
    case 'csv':
      return delimited(csv, columns);
    case 'tsv':
      return delimited({ delimiter: '\t', excel: false }, columns);
    case 'ndjson':
      return new JsonWriter('', '\n', isPart ? columns : null);
    case 'json':
      return new JsonWriter(',\n', '', isPart ? columns : null);
    case 'xlsx':
      return new SheetWriter(columns);
  }
}

function delimited({ delimiter, excel }: CsvForm, columns: readonly WrittenColumn[]): TextWriter {
  const writer = new DelimitedRowWriter(delimiter, columns, excel);
  return {
    begin: writer.take().toString(),
    before: '',
    behind: '\n',
    takesIdBefore: !excel,
    add: (rows) => writer.add(rows),
    take: () => writer.take(),
    end: '',
  };
}

/** Writes a JSON array if `before` is not empty, otherwise lines of JSON. */
class JsonWriter implements TextWriter {
  readonly before: string;
  readonly behind: string;
  readonly takesIdBefore = false;
  readonly #ids: ReadonlySet<string> | null;
  /**
   * Reused memory. With new buffers V8's garbage collector would mark the whole heap every few MiB, because it counts
   * external memory.
   */
  #memories = [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)];
  #length = 0;
  #hasRows = false;

  /** `columns` are the columns to write; null: all columns of the rows. */
  constructor(before: string, behind: string, columns: readonly WrittenColumn[] | null) {
    this.before = before;
    this.behind = behind;
    this.#ids = columns && new Set(columns.map(({ id }) => id));
  }

  get begin(): string {
    return this.before === '' ? '' : '[';
  }

  get end(): string {
    return this.before === '' ? '' : '\n]\n';
  }

  add(rows: Buffer): void {
    const text = this.#ids === null ? rows : Buffer.from(this.#selected(rows.toString(), this.#ids));
    // Omit the separator before the first row.
    this.#append(this.#hasRows || this.before === '' ? text : text.subarray(1));
    this.#hasRows = true;
  }

  #selected(rows: string, ids: ReadonlySet<string>): string {
    const { before, behind } = this;
    const bodies = before === '' ? rows.split(behind).slice(0, -1) : rows.split(before).slice(1);
    return bodies.map((row) => before + selectFields(row, ids) + behind).join('');
  }

  #append(text: Buffer): void {
    const needed = this.#length + text.length;
    let [memory] = this.#memories as [Buffer];
    if (needed > memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * memory.length));
      larger.set(memory.subarray(0, this.#length));
      this.#memories[0] = memory = larger;
    }
    memory.set(text, this.#length);
    this.#length = needed;
  }

  take(): Buffer {
    const memory = this.#memories.shift()!;
    this.#memories.push(memory);
    const text = memory.subarray(0, this.#length);
    this.#length = 0;
    return text;
  }
}

/** A row with only some of its cells, in their original spelling. */
export function selectFields(row: string, fields: ReadonlySet<string>): string {
  const cells: string[] = [];
  eachCell(row, (key, token) => {
    if (fields.has(decodeString(key))) cells.push(`${key}:${token}`);
  });
  return `{${cells.join(',')}}`;
}

/** The columns of a file, or of a page as CSV. `$rowID` is always the first one. */
export function columnsOf(query: RowsQuery, { columns }: QuerySource): FileColumn[] {
  const ids = query.fields ?? [...columns.keys()];
  return ['$rowID', ...ids.filter((id) => id !== '$rowID')].map((id) => {
    const type = columns.get(id)?.type ?? 'string';
    return { id, type, isJson: type === 'json' };
  });
}
