/** Writes rows as CSV (RFC 4180) and TSV, for pages and exports: the one place for how a cell is written. */
import { decodeString, skipBlanks, stringEnd, valueEnd } from '../values/json-text.ts';
import type { Delimiter } from './delimited-records.ts';

const quote = 0x22;

export interface WrittenColumn {
  readonly id: string;
  /** Whether its cells are JSON text, so that strings keep their quotes. */
  readonly isJson: boolean;
}

/** A value in JSON as the text of a cell; null is an empty cell. */
export function cellText(json: string, { isJson }: WrittenColumn): string {
  if (json === 'null') return '';
  return json.startsWith('"') && !isJson ? decodeString(json) : json;
}

/** A header of column IDs, and a line for each row. */
export class DelimitedRowWriter {
  readonly #delimiter: Delimiter;
  /** A cell that is not written as it is: it would end, begin quotes, or lose blanks. */
  readonly #special: RegExp;
  /** The position of each column in a line. */
  readonly #places: ReadonlyMap<string, number>;
  readonly #columns: readonly WrittenColumn[];
  /** How the key of each column begins a cell in most bodies. */
  readonly #keys: readonly string[];
  #cells: string[];
  #text = '';

  /** `columns`: at least one, in the order of their cells. */
  constructor(delimiter: Delimiter, columns: readonly WrittenColumn[]) {
    this.#delimiter = delimiter;
    this.#special = new RegExp(`["${delimiter}\\r\\n\\uFEFF]|^ | $`);
    this.#columns = columns;
    this.#places = new Map(columns.map(({ id }, place) => [id, place]));
    this.#keys = columns.map(({ id }) => `${JSON.stringify(id)}:`);
    this.#cells = columns.map(({ id }) => this.#quoted(id));
    this.endRow();
  }

  /** Sets a cell of the row that is written now to a value in JSON. False if there is no such column. */
  set(id: string, json: string): boolean {
    const place = this.#places.get(id);
    if (place !== undefined) this.#setAt(place, json);
    return place !== undefined;
  }

  /** Sets the cells of a body, which is the JSON text of an object. Columns that are not written are passed over. */
  setAll(body: string): void {
    let at = skipBlanks(body, skipBlanks(body, 0) + 1);
    // Most bodies have their cells in the order of the columns.
    let expected = 0;
    while (body.charCodeAt(at) === quote) {
      let place: number | undefined = expected;
      const key = this.#keys[expected];
      if (key !== undefined && body.startsWith(key, at)) at += key.length;
      else {
        const keyEnd = stringEnd(body, at);
        place = this.#places.get(decodeString(body.slice(at, keyEnd)));
        at = skipBlanks(body, keyEnd) + 1;
      }
      at = skipBlanks(body, at);
      const end = valueEnd(body, at);
      if (place !== undefined) {
        this.#setAt(place, body.slice(at, end));
        expected = place + 1;
      }
      at = skipBlanks(body, skipBlanks(body, end) + 1);
    }
  }

  /** Ends the row. Cells that were not set are empty. */
  endRow(): void {
    const cells = this.#cells;
    // An empty line is no row, so a single empty cell is quoted.
    this.#text += `${cells.length === 1 && cells[0] === '' ? '""' : cells.join(this.#delimiter)}\n`;
    this.#cells = Array<string>(cells.length).fill('');
  }

  /** The text of all lines since the last call, first of all the header. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  #setAt(place: number, json: string): void {
    this.#cells[place] = this.#quoted(cellText(json, this.#columns[place]!));
  }

  #quoted(cell: string): string {
    return this.#special.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  }
}
