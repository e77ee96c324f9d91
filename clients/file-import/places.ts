/** Maps places in the service's messages to places in the file. The service names a row by its index in a chunk. */
import { lineOfRow, type RowLines } from './chunk.ts';

/** The beginning of a message that names a place. */
const placePattern = /^(?:chunk (?<serial>[^,:\s]+)[,:] *)?(?:rows\[(?<row>\d+)\]|(?<header>header\[\d+\]))/;

export interface PlaceInFile {
  readonly line: number;
  /** From 1; null for the header. */
  readonly row: number | null;
}

interface KnownChunk {
  readonly rowsBefore: number;
  readonly lines: RowLines;
}

/** The chunks that were cut so far, with just enough data to locate their rows. */
export class Places {
  readonly #chunks: KnownChunk[] = [];
  #rows = 0;

  /** Call it for each chunk in order. Returns its serial. */
  add({ rows, lines }: { readonly rows: number; readonly lines: RowLines }): number {
    this.#chunks.push({ rowsBefore: this.#rows, lines });
    this.#rows += rows;
    return this.#chunks.length - 1;
  }

  get rows(): number {
    return this.#rows;
  }

  /** The line in which a row of the file begins. `row`: from 0. */
  lineOf(row: number): number {
    const chunk = this.#chunks.findLast(({ rowsBefore }) => rowsBefore <= row)!;
    return lineOfRow(chunk.lines, row - chunk.rowsBefore);
  }

  /**
   * The place that a message of the service names; null if it names none.
   * @param serial of the chunk, for messages that name only a row
   */
  find(message: string, serial: number | null, headerLine: number | null): PlaceInFile | null {
    const groups = placePattern.exec(message)?.groups;
    if (groups === undefined) return null;
    if (groups['header'] !== undefined) return headerLine === null ? null : { line: headerLine, row: null };
    const chunk = this.#chunks[groups['serial'] === undefined ? (serial ?? -1) : Number(groups['serial'])];
    if (chunk === undefined) return null;
    const row = Number(groups['row']);
    return { line: lineOfRow(chunk.lines, row), row: chunk.rowsBefore + row + 1 };
  }
}
