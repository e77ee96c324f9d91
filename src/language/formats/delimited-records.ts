/**
 * Reads CSV and TSV text as records. Papa Parse cuts texts without quotes, in which no mistake is possible. Our own
 * splitter reads all others (docs/decisions/0069).
 */
import Papa from 'papaparse';
import type { Dialect } from './dialect.ts';
import { RecordSplitter } from './record-splitter.ts';

/** The delimiters that an import detects. The media types of CSV and TSV imply the first and the third. */
export const delimiters = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof delimiters)[number];

/** One line, or several if a quoted cell contains line breaks. */
export interface DelimitedRecord {
  /** The line as it was received, without its line end. */
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
  /** Whether U+0000 is allowed. Called before each record. */
  readonly allowsZero: () => boolean;
  /** A longer comment is left unread, like a record that is too long. */
  readonly commentBytesMax: number;
  /**
   * Whether the text ends the body. If not, the text ends with a line end, and a record that continues after it is left
   * unread.
   */
  readonly isLast: boolean;
}

interface RecordsRead {
  /** The text from the first record that was not read, because it has a mistake or continues after the text. */
  readonly rest: string;
  /** Whether blanks before or after a quoted cell were ignored. */
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
  // A clean text has none of the usual quotes, and its line ends are line feeds. Papa Parse takes a comma for the
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

/** Calls `visit` for each record of a clean text. Returns the text after the last record that was read. */
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
        // The parser splits at line feeds, and leaves a carriage return in the last cell.
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
 * follows. An unquoted cell never contains the delimiter. A record with quoted cells is not clean if JSON escapes the
 * quote.
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
  // Computed once: a typed array computes its length on each access.
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
