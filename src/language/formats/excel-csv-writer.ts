/**
 * Writes rows as CSV for Excel: with a byte order mark, so that Excel reads UTF-8, and with an apostrophe before each
 * text that Excel would run as a formula (https://owasp.org/www-community/attacks/CSV_Injection). The apostrophe
 * changes the text, so such a file is not for importing rows back.
 */
import { cellText, type WrittenColumn } from './delimited-row-writer.ts';
import { eachRow, RowCells } from './row-cells.ts';

/** The first character of a formula. Excel also accepts the wide forms of other keyboards. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

export class ExcelCsvWriter {
  readonly #delimiter: string;
  readonly #columns: readonly WrittenColumn[];
  readonly #cells: RowCells;
  readonly #needsQuotes: RegExp;
  #text = '';

  /** `columns`: at least one, in the order of their cells. */
  constructor(delimiter: string, columns: readonly WrittenColumn[]) {
    this.#delimiter = delimiter;
    this.#columns = columns;
    this.#cells = new RowCells(columns);
    this.#needsQuotes = new RegExp(`["\\r\\n\\ufeff]|^ | $|${delimiter === '|' ? '\\|' : delimiter}`);
    this.#text = `\ufeff${columns.map(({ id }) => this.#cell(id)).join(delimiter)}\n`;
  }

  /** Adds rows: JSON objects, each followed by a line feed. Cells of other columns are skipped. */
  add(rows: Buffer): void {
    eachRow(rows, (row) => this.addRow(row));
  }

  addRow(row: string): void {
    const line = this.#cells
      .read(row)
      .map((token, place) => (token === null ? '' : this.#cell(cellText(token, this.#columns[place]!))))
      .join(this.#delimiter);
    // An empty line would be no row.
    this.#text += line === '' ? '""\n' : `${line}\n`;
  }

  /** The lines since the last call. The first call begins with the header. */
  take(): Buffer {
    const lines = Buffer.from(this.#text);
    this.#text = '';
    return lines;
  }

  #cell(text: string): string {
    const isFormula = formula.test(text) && !number.test(text);
    if (!isFormula && !this.#needsQuotes.test(text)) return text;
    return `"${isFormula ? "'" : ''}${text.replaceAll('"', '""')}"`;
  }
}
