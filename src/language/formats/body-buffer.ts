/** A growing buffer for the bodies of a block. Rewrites rows that cannot be copied. */
import { backslash, blank, closeBrace, comma, lowerN, openBrace, openBracket, quote } from '../values/json-scanner.ts';
import type { ScannedRow } from './row-scanner.ts';

/** Small, because most bodies are small: one row of a patch. It grows in few steps to limit garbage. */
const bytesAtFirst = 1024;
const growth = 8;
const bytesOfBlock = 512 * 1024;
/** Below this many bytes a loop is faster than `Buffer#copy`. */
const loopBytesMax = 48;
/** Up to this many values insertion sort is fastest. */
const insertionMax = 32;

export class BodyBuffer {
  bytes = Buffer.alloc(0);
  length = 0;

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    let size = Math.max(this.bytes.length, bytesAtFirst);
    while (size < needed) size = size < bytesOfBlock ? size * growth : size * 2;
    const grown = Buffer.allocUnsafe(size);
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  /** The bytes written. The caller owns them from now on. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }

  // The methods below need room that `reserve` has made.

  byte(byte: number): void {
    this.bytes[this.length++] = byte;
  }

  copy(source: Buffer, start: number, end: number): void {
    if (end - start > loopBytesMax) {
      source.copy(this.bytes, this.length, start, end);
      this.length += end - start;
    } else {
      const target = this.bytes;
      let length = this.length;
      for (let index = start; index < end; index += 1) target[length++] = source[index]!;
      this.length = length;
    }
  }

  /** Copies valid JSON text without the white space between its tokens. */
  copyCompact(source: Buffer, start: number, end: number): void {
    let inString = false;
    for (let index = start; index < end; index += 1) {
      const byte = source[index]!;
      if (inString) {
        this.byte(byte);
        if (byte === backslash) this.byte(source[++index]!);
        else if (byte === quote) inString = false;
      } else if (byte > blank) {
        this.byte(byte);
        inString = byte === quote;
      }
    }
  }

  /**
   * Rewrites a row: its columns in order, without white space between tokens and without `$rowID`; nulls only if they
   * are kept. The result is never longer than the row.
   */
  rewrite(row: ScannedRow, keepNulls: boolean): void {
    const { bytes, columns, starts, ends } = row;
    this.byte(openBrace);
    let first = true;
    for (const cell of cellsInOrder(row)) {
      const column = columns[cell]!;
      const start = starts[cell]!;
      const byte = bytes[start]!;
      if (column.index < 0 || (byte === lowerN && !keepNulls)) continue;
      if (!first) this.byte(comma);
      first = false;
      this.copy(column.key, 0, column.key.length);
      if (byte === openBrace || byte === openBracket) this.copyCompact(bytes, start, ends[cell]!);
      else this.copy(bytes, start, ends[cell]!);
    }
    this.byte(closeBrace);
  }
}

/** The indexes of a row's cells, in the order of their columns. */
function cellsInOrder({ columns, count }: ScannedRow): number[] {
  const cells: number[] = [];
  for (let cell = 0; cell < count; cell += 1) cells.push(cell);
  if (count > insertionMax) return cells.sort((a, b) => columns[a]!.index - columns[b]!.index);
  for (let sorted = 1; sorted < count; sorted += 1) {
    const { index } = columns[sorted]!;
    let place = sorted;
    for (; place > 0 && columns[cells[place - 1]!]!.index > index; place -= 1) cells[place] = cells[place - 1]!;
    cells[place] = sorted;
  }
  return cells;
}
