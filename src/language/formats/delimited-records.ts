/**
 * CSV and TSV text as records. Papa Parse cuts texts without quotes, in which nothing can be a mistake; all others are
 * split by our own scanner (docs/decisions/0069).
 */
import Papa from 'papaparse';
import type { Dialect } from './dialect.ts';
import { RecordSplitter } from './record-splitter.ts';

/**
 * The delimiters that the import recognises in a file. The media types of CSV and TSV imply the first and the third.
 */
export const delimiters = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof delimiters)[number];

/** One line, or several if a quoted cell contains line breaks. */
export interface DelimitedRecord {
  /** As it was received, without its line end. */
  readonly text: string;
  /** Bytes of the text in UTF-8. */
  readonly bytes: number;
  readonly cells: readonly string[];
  /** Which cells were quoted; null if none was. */
  readonly quoted: readonly boolean[] | null;
  /** Whether nothing in the text needs an escape in JSON: no quote, backslash or control character. */
  readonly clean: boolean;
}

const lineFeed = 10;
const carriageReturn = 13;

interface RecordsOptions {
  readonly dialect: Dialect;
  /** Whether U+0000 is no mistake. Asked before each record. */
  readonly allowsZero: () => boolean;
  /** A comment of more bytes is left unread, as a record would be that is too long. */
  readonly commentBytesMax: number;
  /**
   * Whether the text ends the body; else it ends with a line end, and a record that continues behind it is left unread.
   */
  readonly isLast: boolean;
}

interface RecordsRead {
  /** From the first record that was not read: one with a mistake, or that continues behind the text. */
  readonly rest: string;
  /** Whether blanks before a quoted cell, or behind one, were left out. */
  readonly sawBlanks: boolean;
}

/** Calls `visit` for each record of a UTF-8 text that begins with a record. Blank lines and comments are skipped. */
export function readDelimitedRecords(
  bytes: Buffer,
  { dialect, allowsZero, commentBytesMax, isLast }: RecordsOptions,
  visit: (record: DelimitedRecord) => void,
): RecordsRead {
  const text = bytes.toString();
  const isAscii = text.length === bytes.length;
  const special = specialBytes(dialect);
  const allClean = areClean(bytes, special);
  // A clean text has no quotes of the usual kind, and its line ends are line feeds. Papa Parse takes a comma for the
  // delimiter `"`.
  if (
    allClean &&
    dialect.comment === null &&
    dialect.delimiter !== '"' &&
    (dialect.quote === '"' || dialect.quote === null)
  ) {
    return { rest: readPlainRecords(text, isAscii, dialect.delimiter, isLast, visit), sawBlanks: false };
  }
  const splitter = new RecordSplitter(text, dialect);
  let position = 0;
  while (position < text.length && splitter.read(position, allowsZero())) {
    const start = position;
    const { end, next, cells, quoted } = splitter;
    if (next === end && !isLast) break;
    const record = text.slice(start, end);
    const recordBytes = isAscii ? record.length : Buffer.byteLength(record);
    if (!splitter.isRecord && recordBytes > commentBytesMax) break;
    position = next;
    if (splitter.isRecord)
      visit({ text: record, bytes: recordBytes, cells, quoted, clean: allClean || isClean(record, special) });
  }
  return { rest: text.slice(position), sawBlanks: splitter.sawBlanks };
}

/** Calls `visit` for each record of a clean text. Returns what is behind the last one that was read. */
function readPlainRecords(
  text: string,
  isAscii: boolean,
  delimiter: string,
  isLast: boolean,
  visit: (record: DelimitedRecord) => void,
): string {
  let position = 0;
  const step = ({ data: [cells], meta }: Papa.ParseStepResult<[string[]]>): void => {
    const start = position;
    position = meta.cursor;
    let end = position;
    if (end > start && text.charCodeAt(end - 1) === lineFeed) {
      end -= 1;
      if (end > start && text.charCodeAt(end - 1) === carriageReturn) {
        end -= 1;
        // The parser splits at line feeds, and leaves the carriage return before one in the last cell.
        cells[cells.length - 1] = cells.at(-1)!.slice(0, -1);
      }
    }
    if (end === start) return;
    const record = text.slice(start, end);
    visit({
      text: record,
      bytes: isAscii ? record.length : Buffer.byteLength(record),
      cells,
      quoted: null,
      clean: true,
    });
  };
  new Papa.Parser({ delimiter, newline: '\n', step }).parse(text, 0, !isLast);
  return text.slice(position);
}

const specialBytesKnown = new Map<string, Uint8Array>();

/**
 * By byte: 1 if JSON escapes it, so that its record is not clean; 2 for the carriage return, unless a line feed
 * follows. An unquoted cell never holds the delimiter, and a record with quoted cells is not clean because of the
 * quotes, if JSON escapes those.
 */
function specialBytes({ delimiter, quote }: Dialect): Uint8Array {
  const isControl = delimiter < ' ' && (quote === null || quote === '"');
  const key = isControl ? delimiter : '';
  const known = specialBytesKnown.get(key);
  if (known !== undefined) return known;
  const special = new Uint8Array(256).fill(1, 0, 0x20);
  for (const character of '"\\') special[character.charCodeAt(0)] = 1;
  special[lineFeed] = 0;
  special[carriageReturn] = 2;
  if (isControl) special[delimiter.charCodeAt(0)] = 0;
  specialBytesKnown.set(key, special);
  return special;
}

/** Whether every record in these bytes is clean. */
function areClean(bytes: Buffer, special: Uint8Array): boolean {
  // Read once: the length of a typed array is computed on each access.
  const { length } = bytes;
  for (let at = 0; at < length; at += 1) {
    const kind = special[bytes[at]!]!;
    if (kind !== 0 && (kind === 1 || bytes[at + 1] !== lineFeed)) return false;
  }
  return true;
}

/** Whether a record, without its line end, is clean. */
function isClean(text: string, special: Uint8Array): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80 && special[code] !== 0) return false;
  }
  return true;
}
