/**
 * Writes rows as CSV (RFC 4180) and TSV, for pages and exports. The only place that decides how a cell is written. It
 * copies bytes, because most cells are written unchanged.
 */
import { skipBlankBytes, stringEndInBytes, valueEndInBytes } from '../values/json-bytes.ts';
import { decodeString } from '../values/json-text.ts';
import type { Delimiter } from './delimited-records.ts';
import { RowKeys, wordsOf } from './row-keys.ts';
import { backslash, blank, comma, lowerN, openBrace, openBracket, quote } from '../values/json-scanner.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const tab = 0x09;
const apostrophe = 0x27;
const byteOrderMark = Buffer.from('\uFEFF');

/** Marks of bytes within a string. `special`: the cell may need quotes. `stops`: the byte may end the string. */
const special = 1;
const stops = 2;

/** First bytes of a string that need care: readers may trim blanks, and Excel runs formulas. */
const blankFirst = new Uint8Array(256);
blankFirst[blank] = 1;
const formulaFirst = blankFirst.slice();
for (const character of '=+-@') formulaFirst[character.charCodeAt(0)] = 1;

/** The beginning of a formula. Excel also accepts full-width forms of these characters. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** The marks by delimiter, 64 KiB each. */
const marksByDelimiter = new Map([comma, tab].map((delimiter) => [delimiter, marksFor(delimiter)]));

export interface WrittenColumn {
  readonly id: string;
  /** Whether its cells are JSON, so that strings keep their quotes. */
  readonly isJson: boolean;
}

/** A value in JSON as the text of a cell; null is an empty cell. */
export function cellText(json: string, { isJson }: WrittenColumn): string {
  if (json === 'null') return '';
  return json.startsWith('"') && !isJson ? decodeString(json) : json;
}

/**
 * A header of column IDs, and a line for each row.
 *
 * For Excel, the output begins with a byte order mark, so that Excel reads UTF-8, and a text that Excel would run as a
 * formula begins with an apostrophe (https://owasp.org/www-community/attacks/CSV_Injection). This changes such a text,
 * so the output is for reading and not for a later import.
 */
export class DelimitedRowWriter {
  readonly #delimiter: number;
  readonly #marks: Uint8Array;
  /** By byte: 1 if a string that begins with this byte cannot be written unchanged. */
  readonly #notFirst: Uint8Array;
  readonly #forExcel: boolean;
  readonly #columns: readonly WrittenColumn[];
  readonly #keys: RowKeys;
  /** The start and the end of a row's cells, by place. An end of 0: the row has no such cell. */
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  /** 1 for a cell that is written unchanged, from after the quote of a string. */
  readonly #plain: Uint8Array;
  /** A second result of `#stringEnd`. */
  #isPlain = false;
  /** Buffers of lines that may still be in transit. */
  readonly #taken = [Buffer.alloc(0), Buffer.alloc(0)];
  #bytes = Buffer.alloc(0);
  #words = wordsOf(this.#bytes);
  #length = 0;

  /** `columns`: at least one, in the order of their cells. */
  constructor(delimiter: Delimiter, columns: readonly WrittenColumn[], forExcel = false) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#marks = marksByDelimiter.get(this.#delimiter) ?? marksFor(this.#delimiter);
    this.#notFirst = forExcel ? formulaFirst : blankFirst;
    this.#forExcel = forExcel;
    this.#columns = columns;
    this.#starts = new Int32Array(columns.length);
    this.#ends = new Int32Array(columns.length);
    this.#plain = new Uint8Array(columns.length);
    this.#keys = new RowKeys(columns);
    this.#reserve(byteOrderMark.length);
    if (forExcel) this.#length += byteOrderMark.copy(this.#bytes);
    for (const [place, column] of columns.entries()) {
      const text = Buffer.from(column.id);
      this.#reserve(text.length);
      if (place > 0) this.#writeByte(this.#delimiter);
      this.#writeText(text);
    }
    this.#endLine(0);
  }

  /** How many bytes `take` would return. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds rows: JSON objects, with one byte between them. Text before an object is the first cell, unchanged. Cells of
   * other columns are skipped.
   */
  add(rows: Buffer): void {
    const words = wordsOf(rows);
    for (let start = 0; start < rows.length;) {
      // A row is not longer than the rest of the bytes.
      this.#reserve(rows.length - start);
      const lineStart = this.#length;
      let end = this.#writeInOrder(rows, words, start);
      if (end < 0) {
        this.#length = lineStart;
        end = this.#read(rows, words, start);
        this.#write(rows, words);
      }
      this.#endLine(lineStart);
      start = end + 1;
    }
  }

  /**
   * The lines since the last call; the first call begins with the header. They stay valid until the second call after
   * this one, when new rows overwrite them.
   */
  take(): Buffer {
    const lines = this.#bytes.subarray(0, this.#length);
    this.#taken.push(this.#bytes);
    this.#bytes = this.#taken.shift()!;
    this.#words = wordsOf(this.#bytes);
    this.#length = 0;
    return lines;
  }

  /**
   * Writes the cells of the row at `start` while they come in the order of their columns. Returns the index after the
   * row; -1 if they are in another order.
   */
  #writeInOrder(rows: Buffer, words: DataView, start: number): number {
    let at = objectAt(rows, start);
    // The place of the last written cell, and the current place.
    let [last, place] = [-1, 0];
    if (at > start) {
      this.#copy(rows, words, start, at);
      last = 0;
    }
    const keys = this.#keys;
    let key = keys.beforeFirst;
    at = skipBlankBytes(rows, at + 1);
    while (rows[at] === quote) {
      key = keys.at(rows, words, at, key);
      at = skipBlankBytes(rows, keys.valueStart);
      if (key.place < 0 || rows[at] === lowerN) {
        at = valueEndInBytes(rows, at);
      } else {
        if (key.place <= last) return -1;
        last = key.place;
        for (; place < last; place += 1) this.#writeByte(this.#delimiter);
        at = this.#writeCell(rows, words, at, key.isJson);
      }
      at = skipBlankBytes(rows, at);
      if (rows[at] === comma) at = skipBlankBytes(rows, at + 1);
    }
    for (; place < this.#ends.length - 1; place += 1) this.#writeByte(this.#delimiter);
    return at + 1;
  }

  /** Writes the cell of the value at `start`. Returns the index after the value. */
  #writeCell(rows: Buffer, words: DataView, start: number, isJson: boolean): number {
    const first = rows[start];
    if (first === quote) {
      const cellStart = this.#length;
      const end = this.#stringEnd(rows, words, start, this.#words);
      if (this.#isPlain && !isJson) {
        this.#length += end - start - 2;
        return end;
      }
      this.#length = cellStart;
      this.#writeText(textOf(rows.subarray(start, end), isJson));
      return end;
    }
    const end = valueEndInBytes(rows, start);
    if (first === openBracket || first === openBrace) this.#writeText(rows.subarray(start, end));
    else this.#copy(rows, words, start, end);
    return end;
  }

  /** Finds the cells of the row at `start`. Returns the index after it. */
  #read(rows: Buffer, words: DataView, start: number): number {
    this.#ends.fill(0);
    const keys = this.#keys;
    let key = keys.beforeFirst;
    let at = objectAt(rows, start);
    if (at > start) [this.#plain[0], this.#starts[0], this.#ends[0]] = [1, start, at];
    at = skipBlankBytes(rows, at + 1);
    while (rows[at] === quote) {
      key = keys.at(rows, words, at, key);
      at = skipBlankBytes(rows, keys.valueStart);
      const first = rows[at];
      const end = first === quote ? this.#stringEnd(rows, words, at, null) : valueEndInBytes(rows, at);
      const { place, isJson } = key;
      if (place >= 0 && first !== lowerN) {
        const isPlain = first === quote ? this.#isPlain && !isJson : first !== openBracket && first !== openBrace;
        const quoteBytes = isPlain && first === quote ? 1 : 0;
        this.#plain[place] = isPlain ? 1 : 0;
        this.#starts[place] = at + quoteBytes;
        this.#ends[place] = end - quoteBytes;
      }
      at = skipBlankBytes(rows, end);
      if (rows[at] === comma) at = skipBlankBytes(rows, at + 1);
    }
    return at + 1;
  }

  /**
   * The index after the string at `start`. Sets `#isPlain`. Reads four bytes at a time. If `to` is given, copies them
   * there, after the written bytes.
   */
  #stringEnd(rows: Buffer, words: DataView, start: number, to: DataView | null): number {
    const marks = this.#marks;
    const last = rows.length - 4;
    const offset = this.#length - start - 1;
    let seen = 0;
    for (let at = start + 1; at <= last; at += 4) {
      const word = words.getInt32(at, true);
      if (to !== null) to.setInt32(at + offset, word, true);
      const found = marks[word & 0xffff]! | marks[word >>> 16]!;
      if (found < stops) {
        seen |= found;
        continue;
      }
      let end = at;
      for (let byte = rows[end]!; byte !== quote; byte = rows[(end += 1)]!) {
        if (byte === backslash) {
          this.#isPlain = false;
          return stringEndInBytes(rows, start);
        }
        seen |= marks[byte]!;
      }
      this.#isPlain = seen === 0 && this.#notFirst[rows[start + 1]!] === 0 && rows[end - 1] !== blank;
      return end + 1;
    }
    this.#isPlain = false;
    return stringEndInBytes(rows, start);
  }

  #write(rows: Buffer, words: DataView): void {
    for (let place = 0; place < this.#ends.length; place += 1) {
      if (place > 0) this.#writeByte(this.#delimiter);
      const start = this.#starts[place]!;
      const end = this.#ends[place]!;
      if (end === 0) continue;
      if (this.#plain[place] === 1) this.#copy(rows, words, start, end);
      else this.#writeText(textOf(rows.subarray(start, end), this.#columns[place]!.isJson));
    }
  }

  #copy(rows: Buffer, words: DataView, start: number, end: number): void {
    let from = start;
    let to = this.#length;
    for (; from <= end - 4; from += 4, to += 4) this.#words.setInt32(to, words.getInt32(from, true), true);
    for (; from < end; from += 1, to += 1) this.#bytes[to] = rows[from]!;
    this.#length = to;
  }

  /** Writes the text of a cell. In quotes if it would otherwise end early, begin with a quote, or lose blanks. */
  #writeText(text: Buffer): void {
    const isFormula = this.#forExcel && formula.test(text.toString('utf8', 0, 3)) && !number.test(text.toString());
    if (!isFormula && !this.#needsQuotes(text)) {
      this.#length += text.copy(this.#bytes, this.#length);
      return;
    }
    this.#writeByte(quote);
    if (isFormula) this.#writeByte(apostrophe);
    for (const byte of text) {
      this.#writeByte(byte);
      if (byte === quote) this.#writeByte(quote);
    }
    this.#writeByte(quote);
  }

  #needsQuotes(text: Buffer): boolean {
    const isSpecial = (byte: number): boolean =>
      byte === quote || byte === this.#delimiter || byte === lineFeed || byte === carriageReturn;
    return text[0] === blank || text.at(-1) === blank || text.some(isSpecial) || text.includes(byteOrderMark);
  }

  #endLine(start: number): void {
    // An empty line is no row, so a single empty cell is quoted.
    if (this.#length === start && this.#ends.length === 1) {
      this.#writeByte(quote);
      this.#writeByte(quote);
    }
    this.#writeByte(lineFeed);
  }

  #writeByte(byte: number): void {
    this.#bytes[this.#length] = byte;
    this.#length += 1;
  }

  /**
   * Makes room for a line whose row has at most this many bytes. Each byte may be a quote, which is doubled; delimiters
   * and quotes are added.
   */
  #reserve(bytes: number): void {
    const needed = this.#length + 2 * bytes + 4 * this.#ends.length + 1;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#words = wordsOf(larger);
  }
}

/** The index of the object of the row at `start`. */
function objectAt(rows: Buffer, start: number): number {
  let at = start;
  while (rows[at] !== openBrace) at += 1;
  return at;
}

/**
 * The marks of each pair of bytes, which include those of each byte. Looking them up is faster than comparing four
 * bytes with each special one.
 */
function marksFor(delimiter: number): Uint8Array {
  const ofByte = new Uint8Array(256);
  ofByte[delimiter] = ofByte[byteOrderMark[0]!] = special;
  ofByte[quote] = ofByte[backslash] = stops;
  const ofTwo = new Uint8Array(256 * 256);
  for (let bytes = 0; bytes < ofTwo.length; bytes += 1) ofTwo[bytes] = ofByte[bytes & 0xff]! | ofByte[bytes >>> 8]!;
  return ofTwo;
}

/** The text of a cell with this value. */
function textOf(json: Buffer, isJson: boolean): Buffer {
  if (isJson || json[0] !== quote) return json;
  return json.includes(backslash) ? Buffer.from(decodeString(json.toString())) : json.subarray(1, -1);
}
