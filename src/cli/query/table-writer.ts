/** Rows as aligned columns, which are as wide as the values of all rows need. */
import { cellText, type WrittenColumn } from '../../formats/delimited-row-writer.ts';
import type { RowScanner } from '../../formats/row-scanner.ts';
import { eachCell, type RowWriter } from '../export/row-writer.ts';
import { cut, textTable } from '../text-table.ts';

export class TableWriter implements RowWriter {
  readonly #columns: readonly WrittenColumn[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #width: number;
  /** The places of columns with a value that is no number. */
  readonly #others = new Set<number>();
  readonly #lines: string[][] = [];

  /** `width`: how wide a line may be. */
  constructor(columns: readonly WrittenColumn[], width: number) {
    this.#columns = columns;
    this.#places = new Map(columns.map(({ id }, place) => [id, place]));
    this.#width = width;
  }

  begin(): string {
    return '';
  }

  add(scanner: RowScanner): void {
    const line = Array<string>(this.#columns.length).fill('');
    eachCell(scanner, (id, json) => {
      const place = this.#places.get(id);
      if (place === undefined) return false;
      line[place] = cut(cellText(json, this.#columns[place]!), this.#width);
      if (!/^[-\d]|^null$/.test(json)) this.#others.add(place);
      return true;
    });
    this.#lines.push(line);
  }

  take(): string {
    return '';
  }

  end(): string {
    const heading = this.#columns.map(({ id }) => id);
    return textTable(heading, this.#lines, { isRight: (column) => !this.#others.has(column), width: this.#width });
  }
}
