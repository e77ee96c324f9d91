/** Writes rows as aligned columns. Each column is as wide as its widest value. */
import { cellText, type WrittenColumn } from '../../language/formats/delimited-row-writer.ts';
import { rowIdKey, type RowScanner } from '../../language/formats/row-scanner.ts';
import type { ExportWriter } from '../export/export-writer.ts';
import { tableChanged } from '../export/table-pages.ts';
import { cut, textTable } from '../text-table.ts';

export class TableWriter implements ExportWriter {
  readonly #columns: readonly WrittenColumn[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #width: number;
  /** The indexes of columns with a value that is not a number; the others are aligned to the right. */
  readonly #others = new Set<number>();
  readonly #lines: string[][] = [];

  /** `width` is the maximum width of a line. */
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
    const { columns, starts, ends, count } = scanner.row;
    for (let cell = 0; cell < count; cell += 1) {
      const { id } = columns[cell]!;
      const place = this.#places.get(id);
      if (place === undefined) {
        if (id === rowIdKey) continue;
        throw tableChanged();
      }
      const json = scanner.text(starts[cell]!, ends[cell]!);
      line[place] = cut(cellText(json, this.#columns[place]!), this.#width);
      if (!/^[-\d]|^null$/.test(json)) this.#others.add(place);
    }
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
