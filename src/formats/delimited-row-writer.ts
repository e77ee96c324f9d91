/**
 * Writes rows as CSV (RFC 4180) and TSV, for pages and exports: the one place for how a cell is written. From bytes to bytes, since most
 * cells are written as they stand in their rows.
 */
import { skipBlanks, stringEnd, valueEnd } from '../values/json-bytes.ts';
import { decodeString } from '../values/json-text.ts';
import type { Delimiter } from './delimited-records.ts';
import { backslash, blank, comma, lowerN, openBrace, openBracket, quote } from './json-scanner.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = Buffer.from('\uFEFF');

/** A byte four times, as `matches` takes it. */
const fourTimes = (byte: number): number => byte * 0x01010101;
const quotes = fourTimes(quote);
const backslashes = fourTimes(backslash);
const markBegins = fourTimes(byteOrderMark[0]!);

/** How many columns in a row may be missing before the next key is looked up. */
const missingMax = 4;

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

/** A key of rows. */
interface Key {
  /** As it stands in most rows, with its colon. */
  readonly words: DataView;
  /** The place of its cells in a line; -1 if they are not written. */
  readonly place: number;
  readonly isJson: boolean;
  /** The key that is expected after it: rows are much alike. */
  next: Key | null;
}

/** A header of column IDs, and a line for each row. */
export class DelimitedRowWriter {
  readonly #delimiter: number;
  readonly #columns: readonly WrittenColumn[];
  /** By column ID: all that rows have had. */
  readonly #keys = new Map<string, Key>();
  readonly #beforeFirst = keyOf({ id: '', isJson: false }, -1);
  /** Where the cells of a row are, by place. An end of 0: nowhere. */
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  /** 1 for a cell that is written as it is, from behind the quote of a string. */
  readonly #plain: Uint8Array;
  /** What `#keyAt` and `#stringEnd` say besides their results. */
  #valueStart = 0;
  #isPlain = false;
  /** Lines that may still be sent, and those that are written. */
  #taken = Buffer.alloc(0);
  #bytes = Buffer.alloc(0);
  #words = wordsOf(this.#bytes);
  #length = 0;

  /** `columns`: at least one, in the order of their cells. */
  constructor(delimiter: Delimiter, columns: readonly WrittenColumn[]) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#columns = columns;
    this.#starts = new Int32Array(columns.length);
    this.#ends = new Int32Array(columns.length);
    this.#plain = new Uint8Array(columns.length);
    let last = this.#beforeFirst;
    for (const [place, column] of columns.entries()) {
      last = last.next = keyOf(column, place);
      this.#keys.set(column.id, last);
      const text = Buffer.from(column.id);
      this.#reserve(text.length);
      if (place > 0) this.#writeByte(this.#delimiter);
      this.#writeText(text);
    }
    this.#endLine(0);
  }

  /** How many bytes there are to take. */
  get length(): number {
    return this.#length;
  }

  /** Adds rows: JSON objects, with one byte between them. Cells of other columns are passed over. */
  add(rows: Buffer): void {
    const words = wordsOf(rows);
    for (let start = 0; start < rows.length;) {
      const end = this.#read(rows, words, start);
      this.#reserve(end - start);
      this.#write(rows, words);
      start = end + 1;
    }
  }

  /** The lines since the last call, the header first of all. They stay until the next call; rows that are added after that are written over them. */
  take(): Buffer {
    const lines = this.#bytes.subarray(0, this.#length);
    [this.#taken, this.#bytes] = [this.#bytes, this.#taken];
    this.#words = wordsOf(this.#bytes);
    this.#length = 0;
    return lines;
  }

  /** Finds the cells of the row at `start`. Returns the index after it. */
  #read(rows: Buffer, words: DataView, start: number): number {
    this.#ends.fill(0);
    let key = this.#beforeFirst;
    let at = skipBlanks(rows, start + 1);
    while (rows[at] === quote) {
      key = this.#keyAt(rows, words, at, key);
      at = skipBlanks(rows, this.#valueStart);
      const first = rows[at];
      const end = first === quote ? this.#stringEnd(rows, words, at) : valueEnd(rows, at);
      const { place, isJson } = key;
      if (place >= 0 && first !== lowerN) {
        const isPlain = first === quote ? this.#isPlain && !isJson : first !== openBracket && first !== openBrace;
        const quoteBytes = isPlain && first === quote ? 1 : 0;
        this.#plain[place] = isPlain ? 1 : 0;
        this.#starts[place] = at + quoteBytes;
        this.#ends[place] = end - quoteBytes;
      }
      at = skipBlanks(rows, end);
      if (rows[at] === comma) at = skipBlanks(rows, at + 1);
    }
    return at + 1;
  }

  /** The key at an index, behind another one of its row. Sets `#valueStart`. */
  #keyAt(rows: Buffer, words: DataView, at: number, previous: Key): Key {
    let key = previous.next;
    for (let missing = 0; key !== null && missing <= missingMax; missing += 1) {
      if (isAt(words, at, key.words)) {
        this.#valueStart = at + key.words.byteLength;
        return key;
      }
      key = key.next;
    }
    const end = stringEnd(rows, at);
    this.#valueStart = skipBlanks(rows, end) + 1;
    const id = decodeString(rows.toString('utf8', at, end));
    const found = this.#keys.get(id) ?? keyOf({ id, isJson: false }, -1);
    this.#keys.set(id, found);
    previous.next = found;
    return found;
  }

  /** The index after the string at `start`. Sets `#isPlain`. Looks at four bytes at a time. */
  #stringEnd(rows: Buffer, words: DataView, start: number): number {
    const delimiters = fourTimes(this.#delimiter);
    const last = words.byteLength - 4;
    let seen = 0;
    for (let at = start + 1; at <= last; at += 4) {
      const word = words.getInt32(at, true);
      const special = matches(word, delimiters) | matches(word, markBegins);
      const stops = matches(word, quotes) | matches(word, backslashes);
      if (stops === 0) {
        seen |= special;
        continue;
      }
      const stop = stops & -stops;
      const end = at + ((31 - Math.clz32(stop)) >> 3);
      if (rows[end] !== quote) break;
      // Readers may take away blanks at the ends.
      this.#isPlain = (seen | (special & (stop - 1))) === 0 && rows[start + 1] !== blank && rows[end - 1] !== blank;
      return end + 1;
    }
    this.#isPlain = false;
    return stringEnd(rows, start);
  }

  #write(rows: Buffer, words: DataView): void {
    const lineStart = this.#length;
    for (let place = 0; place < this.#ends.length; place += 1) {
      if (place > 0) this.#writeByte(this.#delimiter);
      const start = this.#starts[place]!;
      const end = this.#ends[place]!;
      if (end === 0) continue;
      if (this.#plain[place] === 1) this.#copy(rows, words, start, end);
      else this.#writeText(textOf(rows.subarray(start, end), this.#columns[place]!.isJson));
    }
    this.#endLine(lineStart);
  }

  #copy(rows: Buffer, words: DataView, start: number, end: number): void {
    let from = start;
    let to = this.#length;
    for (; from <= end - 4; from += 4, to += 4) this.#words.setInt32(to, words.getInt32(from, true), true);
    for (; from < end; from += 1, to += 1) this.#bytes[to] = rows[from]!;
    this.#length = to;
  }

  /** Writes the text of a cell, in quotes if it would end, begin quotes, or lose blanks. */
  #writeText(text: Buffer): void {
    if (!this.#needsQuotes(text)) {
      this.#length += text.copy(this.#bytes, this.#length);
      return;
    }
    this.#writeByte(quote);
    for (const byte of text) {
      this.#writeByte(byte);
      if (byte === quote) this.#writeByte(quote);
    }
    this.#writeByte(quote);
  }

  #needsQuotes(text: Buffer): boolean {
    const isSpecial = (byte: number): boolean => byte === quote || byte === this.#delimiter || byte === lineFeed || byte === carriageReturn;
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

  /** Makes room for a line whose cells have this many bytes. Each byte may be a quote, which is doubled; delimiters and quotes come on top. */
  #reserve(bytes: number): void {
    const needed = this.#length + 2 * bytes + 3 * this.#ends.length + 1;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#words = wordsOf(larger);
  }
}

function keyOf({ id, isJson }: WrittenColumn, place: number): Key {
  return { words: wordsOf(Buffer.from(`${JSON.stringify(id)}:`)), place, isJson, next: null };
}

function wordsOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Whether a key is at an index. Of none with less than four bytes: the quotes, a byte, and the colon. */
function isAt(words: DataView, start: number, key: DataView): boolean {
  const last = key.byteLength - 4;
  if (last < 0 || start + last + 4 > words.byteLength || words.getInt32(start + last, true) !== key.getInt32(last, true)) return false;
  for (let at = 0; at < last; at += 4) if (words.getInt32(start + at, true) !== key.getInt32(at, true)) return false;
  return true;
}

/** The highest bit of each byte of a word that is the given one. Bytes above such a one may have it by mistake. */
function matches(word: number, byteFourTimes: number): number {
  const differing = word ^ byteFourTimes;
  return (differing - 0x01010101) & ~differing & 0x80808080;
}

/** What a cell shows of a value. */
function textOf(json: Buffer, isJson: boolean): Buffer {
  if (isJson || json[0] !== quote) return json;
  return json.includes(backslash) ? Buffer.from(decodeString(json.toString())) : json.subarray(1, -1);
}
