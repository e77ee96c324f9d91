/** Writes rows as a sheet of a workbook. */
import { eachRow, RowCells } from '../../../../language/formats/row-cells.ts';
import { sheetText, cellTextMax, cellXml, lettersOf, textCell, type SheetColumn } from './sheet-cells.ts';
import type { TextWriter } from './text-writer.ts';

export class SheetWriter implements TextWriter {
  readonly before = '';
  readonly behind = '\n';
  readonly takesIdBefore = false;
  readonly begin: string;
  readonly end = '</sheetData></worksheet>';
  readonly #columns: readonly SheetColumn[];
  readonly #letters: readonly string[];
  readonly #cells: RowCells;
  #row = 1;
  #text: string[] = [];

  constructor(columns: readonly SheetColumn[]) {
    this.#columns = columns;
    this.#letters = columns.map((_, place) => lettersOf(place));
    this.#cells = new RowCells(columns);
    const header = columns.map(({ id }, place) => textCell(`${this.#letters[place]}1`, id)).join('');
    // Freeze the header while the sheet scrolls.
    const view =
      '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>';
    this.begin =
      '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' +
      `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">${view}<sheetData><row r="1">${header}</row>`;
  }

  add(rows: Buffer): void {
    eachRow(rows, (row) => {
      this.#row += 1;
      let xml = `<row r="${this.#row}">`;
      for (const [place, token] of this.#cells.read(row).entries()) {
        if (token !== null) xml += cellXml(`${this.#letters[place]}${this.#row}`, this.#columns[place]!.type, token);
      }
      this.#text.push(`${xml}</row>`);
    });
  }

  take(): Buffer {
    const text = Buffer.from(this.#text.join(''));
    this.#text = [];
    return text;
  }
}

/** Finds a text that is too long for a cell of a sheet. */
export class LongTexts {
  readonly #columns: readonly SheetColumn[];
  readonly #cells: RowCells;
  /** The column and the row ID of the first such text; null: there is none. */
  found: { readonly columnId: string; readonly rowId: string } | null = null;

  constructor(columns: readonly SheetColumn[]) {
    this.#columns = columns;
    this.#cells = new RowCells(columns);
  }

  /** Checks rows, whose first column is `$rowID`. */
  add(rows: Buffer): void {
    eachRow(rows, (row) => {
      const tokens = this.#cells.read(row);
      for (const [place, token] of tokens.entries()) {
        const { id, type } = this.#columns[place]!;
        if (token !== null && token.length > cellTextMax && sheetText(type, token).length > cellTextMax)
          this.found ??= { columnId: id, rowId: sheetText('string', tokens[0]!) };
      }
    });
  }
}
