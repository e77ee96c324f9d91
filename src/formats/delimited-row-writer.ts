/** Writes rows as CSV (RFC 4180) and TSV, for pages and exports: the one place for how a cell is written. */
import Papa from 'papaparse';
import { decodeString } from '../values/json-text.ts';
import type { Delimiter } from './delimited-records.ts';

export interface WrittenColumn {
  readonly id: string;
  /** Whether its cells are JSON text, so that strings keep their quotes. */
  readonly isJson: boolean;
}

/** A header of column IDs, and a line for each row. */
export class DelimitedRowWriter {
  readonly #config: Papa.UnparseConfig;
  /** The position of each column in a line. */
  readonly #places: ReadonlyMap<string, number>;
  readonly #columns: readonly WrittenColumn[];
  #cells: string[];
  #lines: string[][];

  /** `columns`: at least one, in the order of their cells. */
  constructor(delimiter: Delimiter, columns: readonly WrittenColumn[]) {
    this.#columns = columns;
    this.#places = new Map(columns.map(({ id }, place) => [id, place]));
    this.#cells = this.#emptyCells();
    this.#lines = [columns.map(({ id }) => id)];
    // An empty line is no row, so a single empty cell is quoted.
    const isNarrow = columns.length === 1;
    this.#config = { delimiter, newline: '\n', quotes: (cell: unknown) => isNarrow && cell === '' };
  }

  /** Sets a cell of the row that is written now to a value in JSON. False if there is no such column. */
  set(id: string, json: string): boolean {
    const place = this.#places.get(id);
    if (place === undefined) return false;
    const isText = json.startsWith('"') && !this.#columns[place]!.isJson;
    this.#cells[place] = isText ? decodeString(json) : json === 'null' ? '' : json;
    return true;
  }

  /** Ends the row. Cells that were not set are empty. */
  endRow(): void {
    this.#lines.push(this.#cells);
    this.#cells = this.#emptyCells();
  }

  /** The text of all lines since the last call, first of all the header. */
  take(): string {
    const lines = this.#lines;
    this.#lines = [];
    return lines.length === 0 ? '' : `${Papa.unparse(lines, this.#config)}\n`;
  }

  #emptyCells(): string[] {
    return Array<string>(this.#columns.length).fill('');
  }
}
