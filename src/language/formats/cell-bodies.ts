/** Writes rows of cells as the bodies of a block. */
import { isBare } from './cell-profiler.ts';
import { byIndex } from './delimited-header.ts';
import type { CellColumn, DelimitedHeader } from './delimited-header.ts';
import { closeBrace, comma, openBrace, plain, quote } from '../values/json-scanner.ts';

const lineFeed = 0x0a;
/** Longer texts are written by built-in functions. */
const loopLengthMax = 32;

/** `Buffer#write` calls this internally. Calling it directly saves overhead. */
type WrittenBuffer = Buffer & { utf8Write(text: string, start: number): number };

interface WrittenColumn {
  readonly position: number;
  /** The key and its colon. */
  readonly key: Uint8Array;
  readonly keyBytes: number;
  /** Whether the cells are written without quotes. */
  readonly bare: boolean;
}

/** The bodies of some rows, joined by line feeds. Create it once the block has been profiled. */
export class CellBodies {
  /** Bytes of the bodies, without the line feeds, and of the longest of them. */
  rowBytes = 0;
  rowBytesMax = 0;
  readonly #bytes: WrittenBuffer;
  readonly #columns: readonly (WrittenColumn | null)[];
  readonly #ordered: readonly WrittenColumn[];
  readonly #header: DelimitedHeader;
  #length = 0;

  /** `bytesMax`: an upper bound for the bytes that will be written. */
  constructor(header: DelimitedHeader, bytesMax: number) {
    this.#header = header;
    this.#bytes = Buffer.allocUnsafeSlow(bytesMax) as WrittenBuffer;
    this.#columns = header.columns.map((column) => column && writtenColumn(column));
    this.#ordered = header.ordered.map(({ position }) => this.#columns[position]!);
  }

  add(cells: readonly string[]): void {
    const bytes = this.#bytes;
    let length = this.#length;
    if (length > 0) bytes[length++] = lineFeed;
    const start = length;
    let separator = openBrace;
    for (const { position, key, keyBytes, bare } of this.#columnsOf(cells)) {
      const text = cells[position]!;
      if (text === '') continue;
      bytes[length++] = separator;
      separator = comma;
      for (let at = 0; at < keyBytes; at += 1) bytes[length++] = key[at]!;
      if (!bare) bytes[length++] = quote;
      length += this.#write(text, length);
      if (!bare) bytes[length++] = quote;
    }
    if (separator === openBrace) bytes[length++] = openBrace;
    bytes[length++] = closeBrace;
    this.#length = length;
    this.rowBytes += length - start;
    if (length - start > this.rowBytesMax) this.rowBytesMax = length - start;
  }

  /** The bytes written. */
  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Writes the content of a JSON string, without its quotes. Returns the number of bytes. */
  #write(text: string, start: number): number {
    const bytes = this.#bytes;
    if (text.length <= loopLengthMax) {
      let at = 0;
      for (; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        if (code > 0x7f || plain[code] === 0) break;
        bytes[start + at] = code;
      }
      if (at === text.length) return at;
    }
    return bytes.utf8Write(JSON.stringify(text).slice(1, -1), start);
  }

  /** The columns that a row has cells for, in body order. A short line costs no more than its own cells. */
  #columnsOf(cells: readonly string[]): readonly WrittenColumn[] {
    const { columns } = this.#header;
    if (cells.length === columns.length) return this.#ordered;
    const present = columns.slice(0, cells.length).filter((column) => column !== null);
    return present.sort(byIndex).map(({ position }) => this.#columns[position]!);
  }
}

function writtenColumn(column: CellColumn): WrittenColumn {
  const key = Buffer.from(`${column.key}:`);
  return { position: column.position, key, keyBytes: key.length, bare: isBare(column) };
}

/** Bytes of the row's body if all cells are stored as strings. */
export function bytesAsStrings(cells: readonly string[], { columns }: DelimitedHeader): number {
  let bytes = 1;
  for (const [position, cell] of cells.entries()) {
    const column = columns[position];
    if (cell === '' || !column) continue;
    // `overheadBytes` includes the quotes.
    bytes += column.overheadBytes + Buffer.byteLength(JSON.stringify(cell)) - 2;
  }
  return Math.max(bytes, 2);
}
