/**
 * Finds the ends of CSV and TSV records in bytes, for code that cuts a file without reading its cells
 * (docs/decisions/0069).
 */
import { blanksMax, type Dialect } from './dialect.ts';
import { bytesOfDialect, isAt, isLineEnd, type DialectBytes } from './dialect-bytes.ts';

const lineFeed = 10;
const carriageReturn = 13;
/** Two marks of four bytes each: with so many bytes ahead, the meaning of a place is certain. */
const bytesAhead = 8;

/** The place of the bytes within a record. `cell`: at the beginning of a cell, where a quote may come. */
type Place = 'record' | 'cell' | 'unquoted' | 'quoted' | 'comment';

/**
 * Up to the first mistake it finds the same records as RecordSplitter. After a mistake it treats quotes as text until
 * the cell ends, so that it finds the whole record with the mistake.
 */
export class RecordEnds {
  readonly #marks: DialectBytes;
  /** By byte: whether it may end an unquoted cell. */
  readonly #ends = new Uint8Array(256);
  #place: Place = 'record';
  #blanks = 0;

  constructor(dialect: Dialect) {
    this.#marks = bytesOfDialect(dialect);
    this.#ends[lineFeed] = this.#ends[carriageReturn] = this.#ends[this.#marks.delimiter[0]!] = 1;
  }

  /** Whether the scanned bytes end within quotes. */
  get isOpen(): boolean {
    return this.#place === 'quoted';
  }

  /** Whether the scanned bytes end within a comment. */
  get isComment(): boolean {
    return this.#place === 'comment';
  }

  /**
   * Scans the bytes from `from` on, which must follow the bytes scanned before. Scans the last few bytes only if
   * `isLast`: no bytes follow them.
   * @param visit called for each record whose line end has arrived: with the end of its text, the end of its line end,
   * and whether it is a comment
   * @returns the index up to which it has scanned
   */
  find(
    bytes: Uint8Array,
    from: number,
    end: number,
    isLast: boolean,
    visit: (textEnd: number, next: number, isComment: boolean) => void,
  ): number {
    const { delimiter, quote, escape, comment } = this.#marks;
    const ends = this.#ends;
    const quoteByte = quote?.[0];
    const escapeByte = escape?.[0];
    const last = isLast ? end : end - bytesAhead;
    let place = this.#place;
    let at = from;
    while (at < last) {
      if (place === 'quoted') {
        while (at < last && bytes[at] !== quoteByte && bytes[at] !== escapeByte) at += 1;
        if (at >= last) break;
        if (escape !== null && isAt(bytes, at, end, escape)) {
          at += escape.length;
          if (isAt(bytes, at, end, quote!)) at += quote!.length;
          else if (isAt(bytes, at, end, escape)) at += escape.length;
        } else if (isAt(bytes, at, end, quote!)) {
          at += quote!.length;
          if (isAt(bytes, at, end, quote!)) at += quote!.length;
          else place = 'unquoted';
        } else {
          at += 1;
        }
        continue;
      }
      if (place === 'record') {
        this.#blanks = 0;
        place = comment !== null && isAt(bytes, at, end, comment) ? 'comment' : 'cell';
      }
      if (place === 'cell') {
        const byte = bytes[at]!;
        if (quote !== null && isAt(bytes, at, end, quote)) {
          at += quote.length;
          place = 'quoted';
          continue;
        }
        const isBlank = (byte === 0x20 || byte === 0x09) && byte !== delimiter[0];
        if (isBlank && this.#blanks < blanksMax) {
          this.#blanks += 1;
          at += 1;
          continue;
        }
        place = 'unquoted';
      }
      while (at < last && ends[bytes[at]!] === 0) at += 1;
      if (at >= last) break;
      const byte = bytes[at]!;
      if (isLineEnd(byte)) {
        const textEnd = at;
        at += byte === carriageReturn && at + 1 < end && bytes[at + 1] === lineFeed ? 2 : 1;
        visit(textEnd, at, place === 'comment');
        place = 'record';
      } else if (place !== 'comment' && isAt(bytes, at, end, delimiter)) {
        at += delimiter.length;
        this.#blanks = 0;
        place = 'cell';
      } else {
        at += 1;
      }
    }
    this.#place = place;
    return at;
  }
}
