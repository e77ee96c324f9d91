/** Reads a page of rows without parsing the values, so that every number keeps its digits. */
import {
  RefusedText,
  UnfinishedText,
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
} from '../../language/values/json-scanner.ts';
import { RowScanner } from '../../language/formats/row-scanner.ts';
import { notTablog } from '../../../clients/typescript/src/index.ts';

/** Answers may exceed the limits for requests, for example with an array around a widened value. */
const noLimits = {
  blockRows: Infinity,
  blockBytes: Infinity,
  rowBytes: Infinity,
  cellBytes: Infinity,
  columnIdBytes: Infinity,
  columns: Infinity,
  envelopeBytes: Infinity,
};

/** Reads the pages of one table. Its rows are alike, which makes scanning faster. */
export class PageRows {
  /** Holds the row for which `visit` is called: see `row` and `text`. */
  readonly scanner = new RowScanner([], noLimits);

  /** Calls `visit` for each row of a page, and returns the continuation; null on the last page. Throws TablogError. */
  read(page: Buffer, visit: () => void): string | null {
    const { scanner } = this;
    scanner.bytes = Buffer.concat([page, Buffer.alloc(1)]);
    scanner.end = page.length;
    try {
      return this.#readMembers(visit);
    } catch (error) {
      if (error instanceof RefusedText || error instanceof UnfinishedText) throw notTablog(200);
      throw error;
    }
  }

  #readMembers(visit: () => void): string | null {
    const { scanner } = this;
    let continuation: string | null = null;
    let position = scanner.space(0);
    if (scanner.bytes[position] !== openBrace) scanner.unexpected(position);
    do {
      const keyStart = scanner.space(position + 1);
      const valueStart = scanner.afterKey(keyStart);
      const key = scanner.decode(keyStart, scanner.string(keyStart));
      const end = key === 'data' ? this.#readRows(valueStart, visit) : scanner.value(valueStart);
      if (key === 'continuation') continuation = scanner.decode(valueStart, end);
      position = scanner.space(end);
    } while (scanner.bytes[position] === comma);
    if (scanner.bytes[position] !== closeBrace) scanner.unexpected(position);
    return continuation;
  }

  /** Returns the index after the array. */
  #readRows(start: number, visit: () => void): number {
    const { scanner } = this;
    if (scanner.bytes[start] !== openBracket) scanner.unexpected(start);
    let position = scanner.space(start + 1);
    if (scanner.bytes[position] === closeBracket) return position + 1;
    for (;;) {
      const end = scanner.scanRow(position);
      visit();
      position = scanner.space(end);
      if (scanner.bytes[position] === closeBracket) return position + 1;
      if (scanner.bytes[position] !== comma) scanner.unexpected(position);
      position = scanner.space(position + 1);
    }
  }
}
