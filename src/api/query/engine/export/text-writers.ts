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

/** What is written row by row, also the sheet of a workbook. */
export type TextFormat = Exclude<ExportFormat, 'parquet'>;

/** A column of a file. */
export type FileColumn = WrittenColumn & SheetColumn;

/** `columns`: those of the file. `isPart`: whether rows have more columns. `csv`: how CSV is written. */
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

/** A JSON array, if something stands before each row; else lines of JSON. */
class JsonWriter implements TextWriter {
  readonly before: string;
  readonly behind: string;
  readonly takesIdBefore = false;
  readonly #ids: ReadonlySet<string> | null;
  /**
   * Memory that is used again: else the collector of garbage would mark the whole heap every few MiB, since such memory
   * counts as its own.
   */
  #memories = [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)];
  #length = 0;
  #hasRows = false;

  /** `columns`: null for all that rows have. */
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
    // Nothing separates the first row from one before it.
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

/** A row with some of its cells only, as they are written. */
export function selectFields(row: string, fields: ReadonlySet<string>): string {
  const cells: string[] = [];
  eachCell(row, (key, token) => {
    if (fields.has(decodeString(key))) cells.push(`${key}:${token}`);
  });
  return `{${cells.join(',')}}`;
}

/** The columns of a file, or of a page as CSV. `$rowID` always comes, and comes first. */
export function columnsOf(query: RowsQuery, { columns }: QuerySource): FileColumn[] {
  const ids = query.fields ?? [...columns.keys()];
  return ['$rowID', ...ids.filter((id) => id !== '$rowID')].map((id) => {
    const type = columns.get(id)?.type ?? 'string';
    return { id, type, isJson: type === 'json' };
  });
}
