/**
 * CSV and TSV text as records. Papa Parse finds the cells; it tolerates misplaced quotes, so records that may have any are also
 * checked against RFC 4180 (docs/decisions/0008).
 */
import Papa from 'papaparse';
import { excerptOf } from '../values/build-profile.ts';

/** What may stand between the cells of a record. Bodies of requests have commas or tabs; the others are of files. */
export const delimiters = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof delimiters)[number];

/** One line, or several if a quoted cell contains line breaks. */
export interface DelimitedRecord {
  /** As it was received, without its line end. */
  readonly text: string;
  /** Bytes of the text in UTF-8. */
  readonly bytes: number;
  readonly cells: readonly string[];
  /** Whether nothing in the text needs an escape in JSON: no quote, backslash or control character. */
  readonly clean: boolean;
}

/** A syntax error in a record. */
export interface Mistake {
  /** The position of the cell in the record. */
  readonly cell: number;
  /** Whether the error is a quote that is still open at the end of the text. */
  readonly isOpen: boolean;
  /** Includes the cell as far as it was read. */
  readonly reason: string;
}

const quoteMark = '"';
const lineFeed = 10;
const carriageReturn = 13;

/**
 * By byte: 1 if its record must be checked, because JSON escapes the byte or it may be an error; 2 for the carriage return, unless
 * a line feed follows. A TSV cell without quotes never holds the delimiter.
 */
const specialBytes: Readonly<Record<Delimiter, Uint8Array>> = { ',': specialBytesOf(','), ';': specialBytesOf(';'), '\t': specialBytesOf('\t'), '|': specialBytesOf('|') };
/** Characters that end an unquoted cell, or are not allowed in it. */
const special: Readonly<Record<Delimiter, RegExp>> = { ',': /[,"\r\0]/g, ';': /[;"\r\0]/g, '\t': /[\t"\r\0]/g, '|': /[|"\r\0]/g };
/** The same where U+0000 is allowed. */
const specialButZero: Readonly<Record<Delimiter, RegExp>> = { ',': /[,"\r]/g, ';': /[;"\r]/g, '\t': /[\t"\r]/g, '|': /[|"\r]/g };

/**
 * Calls `visit` for each record of a UTF-8 text that begins with a record. Blank lines are skipped.
 * @param isLast whether the text ends the body; else it ends with a line feed, and a record that continues behind it is left unread
 * @returns the unread rest
 */
export function readRecords(
  bytes: Buffer, delimiter: Delimiter, isLast: boolean, visit: (record: DelimitedRecord) => void,
): string {
  const text = bytes.toString();
  const isAscii = text.length === bytes.length;
  const allClean = areClean(bytes, delimiter);
  let position = 0;
  const step = ({ data: [cells], meta }: Papa.ParseStepResult<[string[]]>): void => {
    const start = position;
    position = meta.cursor;
    let end = position;
    if (end > start && text.charCodeAt(end - 1) === lineFeed) {
      end -= 1;
      if (end > start && text.charCodeAt(end - 1) === carriageReturn) {
        end -= 1;
        withoutReturn(cells, text[end - 1] === quoteMark);
      }
    }
    if (end === start) return;
    const record = text.slice(start, end);
    visit({
      text: record,
      bytes: isAscii ? record.length : Buffer.byteLength(record),
      cells,
      clean: allClean || isClean(record, delimiter),
    });
  };
  // Not parsed beyond the first mistaken record: the parser would scan to the end of the text for each malformed cell.
  const mistaken = allClean ? null : findMistakenRecord(text, delimiter);
  const sound = mistaken === null ? text : text.slice(0, mistaken);
  new Papa.Parser({ delimiter, newline: '\n', step }).parse(sound, 0, !isLast || mistaken !== null);
  return text.slice(position);
}

function specialBytesOf(delimiter: Delimiter): Uint8Array {
  const special = new Uint8Array(256).fill(1, 0, 0x20);
  for (const character of '"\\') special[character.charCodeAt(0)] = 1;
  special[lineFeed] = 0;
  special[carriageReturn] = 2;
  if (delimiter === '\t') special[delimiter.charCodeAt(0)] = 0;
  return special;
}

/** Whether no record in these bytes needs a check. */
function areClean(bytes: Buffer, delimiter: Delimiter): boolean {
  const special = specialBytes[delimiter];
  // Read once: the length of a typed array is computed on each access.
  const { length } = bytes;
  for (let at = 0; at < length; at += 1) {
    const kind = special[bytes[at]!]!;
    if (kind !== 0 && (kind === 1 || bytes[at + 1] !== lineFeed)) return false;
  }
  return true;
}

/** Whether a record, without its line end, needs no check. */
function isClean(text: string, delimiter: Delimiter): boolean {
  const special = specialBytes[delimiter];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80 && special[code] !== 0) return false;
  }
  return true;
}

/** The parser splits at line feeds, and leaves the carriage return before one in an unquoted cell. */
function withoutReturn(cells: string[], lastIsQuoted: boolean): void {
  const last = cells.length - 1;
  if (!lastIsQuoted) cells[last] = cells[last]!.slice(0, -1);
}

/** Characters that end an unquoted cell, or are not allowed in it. */
const cellEnd: Readonly<Record<Delimiter, RegExp>> = { ',': /[,"\n]/g, ';': /[;"\n]/g, '\t': /[\t"\n]/g, '|': /[|"\n]/g };

/** Where the first record begins that has a misplaced quote, or text behind a closing quote; null if there is none. */
function findMistakenRecord(text: string, delimiter: Delimiter): number | null {
  const search = cellEnd[delimiter];
  let record = 0;
  for (let cell = 0; cell < text.length;) {
    let end: number;
    if (text[cell] === quoteMark) {
      end = closingQuote(text, cell) + 1;
      // Still open: the closing quote may follow in later bytes.
      if (end === 0 || end === text.length) return null;
      if (text.startsWith('\r\n', end)) end += 1;
    } else {
      search.lastIndex = cell;
      if (!search.test(text)) return null;
      end = search.lastIndex - 1;
    }
    if (text.charCodeAt(end) === lineFeed) record = end + 1;
    else if (text[end] !== delimiter) return record;
    cell = end + 1;
  }
  return null;
}

/** The first mistake in the text of a record; null if there is none. `allowsZero`: whether U+0000 is none. */
export function firstMistake(text: string, delimiter: Delimiter, allowsZero = false): Mistake | null {
  const search = (allowsZero ? specialButZero : special)[delimiter];
  const zero = allowsZero ? -1 : text.indexOf('\0');
  let start = 0;
  for (let cell = 0;; cell += 1) {
    let end: number;
    if (text[start] === quoteMark) {
      const close = closingQuote(text, start);
      if (zero >= start && (close === -1 || zero < close)) return mistake(text, cell, start, zero + 1, '\0');
      if (close === -1) return mistake(text, cell, start, text.length, 'open');
      if (close + 1 === text.length) return null;
      if (text[close + 1] !== delimiter) return mistake(text, cell, start, close + 2, 'behind');
      end = close + 2;
    } else {
      search.lastIndex = start;
      if (!search.test(text)) return null;
      end = search.lastIndex;
      const character = text[end - 1]!;
      if (character !== delimiter) return mistake(text, cell, start, end, character as keyof typeof reasons);
    }
    start = end;
  }
}

const reasons = {
  'open': 'begins with a quote that is never closed',
  'behind': 'has something behind its closing quote',
  '"': 'has a quote in it, but does not begin with one',
  '\r': 'has a carriage return in it that is no line end, but is not quoted',
  '\0': 'has U+0000 in it, which cannot be stored',
} as const;

function mistake(text: string, cell: number, start: number, end: number, kind: keyof typeof reasons): Mistake {
  const shown = excerptOf(JSON.stringify(text.slice(start, end)));
  return { cell, isOpen: kind === 'open', reason: `${shown} ${reasons[kind]}` };
}

/** The index of the quote that closes the cell whose quote is at `start`; -1 if there is none. */
function closingQuote(text: string, start: number): number {
  for (let at = text.indexOf(quoteMark, start + 1); at !== -1; at = text.indexOf(quoteMark, at + 2)) {
    if (text[at + 1] !== quoteMark) return at;
  }
  return -1;
}
