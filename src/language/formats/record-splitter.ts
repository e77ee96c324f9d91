/**
 * Splits a text of CSV or TSV into records, and these into cells. Works for every dialect, in linear time
 * (docs/decisions/0069).
 */
import { excerptOf } from '../values/build-profile.ts';
import { blanksMax, type Dialect } from './dialect.ts';

/** A syntax error in a record. */
export interface Mistake {
  /** The position of the cell in the record. */
  readonly cell: number;
  /** Whether the error is a quote that is still open at the end of the text. */
  readonly isOpen: boolean;
  /** Includes the cell as far as it was read. */
  readonly reason: string;
}

const tab = 9;
const blank = 32;
/** How much of a cell an excerpt considers. */
const excerptMax = 200;

/** Finds the next occurrence in a text. If the positions of its calls do not decrease, it reads each character once. */
class Occurrences {
  readonly #text: string;
  readonly #searched: string;
  #next = -1;

  /** `searched`: null never occurs. */
  constructor(text: string, searched: string | null) {
    this.#text = text;
    this.#searched = searched ?? '';
    if (searched === null) this.#next = Infinity;
  }

  /** The next occurrence at or after the position; Infinity if there is none. */
  from(position: number): number {
    if (this.#next >= position) return this.#next;
    const found = this.#text.indexOf(this.#searched, position);
    this.#next = found === -1 ? Infinity : found;
    return this.#next;
  }
}

/** A line ends with a line feed, a carriage return, or both in this order, outside of quotes. */
export class RecordSplitter {
  /** The cells of the last record. */
  cells: string[] = [];
  /** Which of the cells were quoted; null if none was. */
  quoted: boolean[] | null = null;
  /** The end of the last record's text, and the end of its line end. */
  end = 0;
  next = 0;
  /** Whether the last line is a record: neither a blank line nor a comment. */
  isRecord = true;
  /** The mistake that ended the reading. */
  mistake: Mistake | null = null;
  /** Whether blanks before or after a quoted cell were ignored so far. */
  sawBlanks = false;

  readonly #text: string;
  readonly #dialect: Dialect;
  readonly #feeds: Occurrences;
  readonly #returns: Occurrences;
  readonly #delimiters: Occurrences;
  readonly #quotes: Occurrences;
  readonly #escapes: Occurrences;
  readonly #zeros: Occurrences;
  /** The text of the last quoted cell. */
  #value = '';

  constructor(text: string, dialect: Dialect) {
    this.#text = text;
    this.#dialect = dialect;
    this.#feeds = new Occurrences(text, '\n');
    this.#returns = new Occurrences(text, '\r');
    this.#delimiters = new Occurrences(text, dialect.delimiter);
    this.#quotes = new Occurrences(text, dialect.quote);
    this.#escapes = new Occurrences(text, dialect.escape);
    this.#zeros = new Occurrences(text, '\0');
  }

  /**
   * Reads the record that begins at `start`, up to the end of the text if it has no line end. Each call must begin
   * after the record before.
   * @param allowsZero whether U+0000 is allowed
   * @returns false for a mistake
   */
  read(start: number, allowsZero: boolean): boolean {
    const text = this.#text;
    const { comment, delimiter } = this.#dialect;
    const lineEnd = this.#lineEnd(start);
    this.isRecord = lineEnd > start;
    if (comment !== null && text.startsWith(comment, start)) {
      this.isRecord = false;
    } else if (this.#quotes.from(start) < lineEnd || (!allowsZero && this.#zeros.from(start) < lineEnd)) {
      return this.#readCells(start, allowsZero);
    } else {
      this.cells = text.slice(start, lineEnd).split(delimiter);
      this.quoted = null;
    }
    this.#endAt(lineEnd);
    return true;
  }

  #lineEnd(from: number): number {
    return Math.min(this.#feeds.from(from), this.#returns.from(from), this.#text.length);
  }

  #endAt(end: number): void {
    this.end = end;
    this.next = Math.min(this.#text.length, this.#text.startsWith('\r\n', end) ? end + 2 : end + 1);
  }

  #readCells(start: number, allowsZero: boolean): boolean {
    const text = this.#text;
    const { delimiter, quote } = this.#dialect;
    const cells: string[] = [];
    const quoted: boolean[] = [];
    for (let at = start; ;) {
      const first = this.#behindBlanks(at, blanksMax);
      const isQuoted = quote !== null && text.startsWith(quote, first);
      const end = isQuoted
        ? this.#readQuoted(cells.length, at, first, quote, allowsZero)
        : this.#readUnquoted(cells.length, at, allowsZero);
      if (end === -1) return false;
      cells.push(isQuoted ? this.#value : text.slice(at, end));
      quoted.push(isQuoted);
      if (!text.startsWith(delimiter, end)) {
        this.cells = cells;
        this.quoted = quoted;
        this.#endAt(end);
        return true;
      }
      at = end + delimiter.length;
    }
  }

  /**
   * Reads a cell whose opening quote is at `first`. Returns the index of the delimiter, line end or end of text after
   * it; -1 for a mistake.
   */
  #readQuoted(cell: number, at: number, first: number, quote: string, allowsZero: boolean): number {
    const text = this.#text;
    const close = this.#closingQuote(first, quote);
    const zero = allowsZero ? Infinity : this.#zeros.from(first);
    if (zero < text.length && (close === -1 || zero < close)) return this.#fail(cell, first, zero + 1, '\0');
    if (close === -1) return this.#fail(cell, first, text.length, 'open');
    const behind = close + quote.length;
    const end = this.#behindBlanks(behind, Infinity);
    if (end < text.length && !text.startsWith(this.#dialect.delimiter, end) && this.#lineEnd(end) !== end) {
      return this.#fail(cell, first, end + String.fromCodePoint(text.codePointAt(end)!).length, 'behind');
    }
    if (first > at || end > behind) this.sawBlanks = true;
    return end;
  }

  /** Like `#readQuoted`, for a cell without quotes around it. */
  #readUnquoted(cell: number, at: number, allowsZero: boolean): number {
    const { lenient, quote } = this.#dialect;
    const end = Math.min(this.#delimiters.from(at), this.#lineEnd(at));
    const quoteAt = lenient ? Infinity : this.#quotes.from(at);
    const zeroAt = allowsZero ? Infinity : this.#zeros.from(at);
    if (Math.min(quoteAt, zeroAt) >= end) return end;
    return quoteAt < zeroAt
      ? this.#fail(cell, at, quoteAt + quote!.length, 'quote')
      : this.#fail(cell, at, zeroAt + 1, '\0');
  }

  #fail(cell: number, start: number, end: number, kind: keyof typeof reasons): -1 {
    const shown = excerptOf(JSON.stringify(this.#text.slice(start, Math.min(end, start + excerptMax))));
    this.mistake = { cell, isOpen: kind === 'open', reason: `${shown} ${reasons[kind]}` };
    return -1;
  }

  #behindBlanks(from: number, max: number): number {
    const delimiter = this.#dialect.delimiter.charCodeAt(0);
    for (let at = from; at < from + max; at += 1) {
      const code = this.#text.charCodeAt(at);
      if ((code !== blank && code !== tab) || code === delimiter) return at;
    }
    return from + max;
  }

  /** The index of the quote that closes the cell whose quote is at `first`; -1 if there is none. Sets `#value`. */
  #closingQuote(first: number, quote: string): number {
    const text = this.#text;
    const start = first + quote.length;
    if (this.#dialect.escape !== null) return this.#closingQuoteAmongEscapes(start, quote, this.#dialect.escape);
    let hasPair = false;
    for (let at = text.indexOf(quote, start); at !== -1; at = text.indexOf(quote, at + 2 * quote.length)) {
      if (!text.startsWith(quote, at + quote.length)) {
        const content = text.slice(start, at);
        this.#value = hasPair ? content.replaceAll(quote + quote, () => quote) : content;
        return at;
      }
      hasPair = true;
    }
    return -1;
  }

  #closingQuoteAmongEscapes(start: number, quote: string, escape: string): number {
    const text = this.#text;
    let value = '';
    let from = start;
    for (let at = start; ;) {
      const quoteAt = this.#quotes.from(at);
      if (quoteAt === Infinity) return -1;
      const found = Math.min(quoteAt, this.#escapes.from(at));
      const behind = found + (found === quoteAt ? quote : escape).length;
      const escaped = [quote, escape].find(
        (mark) => text.startsWith(mark, behind) && (found < quoteAt || mark === quote),
      );
      if (escaped !== undefined) {
        value += text.slice(from, found) + escaped;
        from = behind + escaped.length;
      } else if (found === quoteAt) {
        this.#value = value + text.slice(from, found);
        return found;
      }
      at = escaped === undefined ? behind : from;
    }
  }
}

const reasons = {
  'open': 'begins with a quote that is never closed',
  'behind': 'has something behind its closing quote',
  'quote': 'has a quote in it, but does not begin with one',
  '\0': 'has U+0000 in it, which cannot be stored',
} as const;

/**
 * The first mistake in the record at the beginning of a text; null if there is none. `allowsZero`: whether U+0000 is
 * allowed.
 */
export function firstMistake(text: string, dialect: Dialect, allowsZero: boolean): Mistake | null {
  const splitter = new RecordSplitter(text, dialect);
  splitter.read(0, allowsZero);
  return splitter.mistake;
}
