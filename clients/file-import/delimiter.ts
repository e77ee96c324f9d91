/** Detects the delimiter of a file. */
import type { DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import { delimiters, type Delimiter } from '../../src/language/formats/delimited-records.ts';
import { conflictIn, dialectOf, type Dialect } from '../../src/language/formats/dialect.ts';
import { RecordSplitter } from '../../src/language/formats/record-splitter.ts';

/** How much of the beginning of a file is used to detect its delimiter: at most so many lines and bytes. */
const sample = { lines: 100, bytes: 64 * 1024 };
const lineFeed = 10;
const carriageReturn = 13;

/**
 * The end of the sample from which the delimiter is detected; null while more bytes are needed. The sample does not
 * depend on the pieces in which the bytes arrive.
 * @param end the end of the bytes that have arrived
 */
export function endOfSample(bytes: Buffer, start: number, end: number): number | null {
  const last = Math.min(end, start + sample.bytes);
  let lines = 0;
  // Only the next byte tells whether a carriage return is a line end or half of one.
  for (let at = start; at < last - 1; at += 1) {
    const isEnd = bytes[at] === lineFeed || (bytes[at] === carriageReturn && bytes[at + 1] !== lineFeed);
    if (isEnd && (lines += 1) === sample.lines) return at + 1;
  }
  return last === start + sample.bytes ? last : null;
}

/**
 * The delimiter with which most of the first records have as many cells as the header; if there are several, the one
 * that gives the header most cells. (A header such as `Preis, netto;Menge, Stk` has more commas than semicolons, but
 * the lines below do not.) The comma if every delimiter gives the header one cell.
 * @param beginning the beginning of the text: the header, and as much after it as is known
 * @param isWhole whether this is the whole text; if not, its last record may be incomplete
 */
export function recogniseDelimiter(beginning: string, isWhole: boolean, form: DelimitedForm): Delimiter {
  const possible = delimiters.filter((delimiter) => conflictIn(form, delimiter) === null);
  const candidates = possible
    .map((delimiter) => ({ delimiter, ...compareRecords(beginning, dialectOf(form, delimiter), isWhole) }))
    .filter(({ cells }) => cells > 1);
  return candidates.toSorted((a, b) => b.alike - a.alike || b.cells - a.cells)[0]?.delimiter ?? ',';
}

/** How many cells the header has, and the share of records below it that have as many. */
function compareRecords(
  beginning: string,
  dialect: Dialect,
  isWhole: boolean,
): { readonly cells: number; readonly alike: number } {
  const [header = [], ...records] = recordsOf(beginning, dialect);
  if (!isWhole && records.length > 0) records.pop();
  const compared = records.filter((cells) => cells === null || cells.length > 1 || cells[0]!.trim() !== '');
  const alike =
    compared.length === 0 ? 1 : compared.filter((cells) => cells?.length === header?.length).length / compared.length;
  return { cells: header?.length ?? 0, alike };
}

/**
 * The cells of each record; null for a record with a mistake. The next record then begins after the first line of the
 * broken one.
 */
function recordsOf(text: string, dialect: Dialect): (string[] | null)[] {
  const records: (string[] | null)[] = [];
  let splitter = new RecordSplitter(text, dialect);
  let before = 0;
  for (let position = 0; before + position < text.length;) {
    if (splitter.read(position, true)) {
      position = splitter.next;
      if (splitter.isRecord) records.push(splitter.cells);
    } else {
      records.push(null);
      const lineEnd = text.slice(before + position).search(/[\r\n]/);
      if (lineEnd === -1) break;
      before += position + lineEnd + 1;
      position = 0;
      splitter = new RecordSplitter(text.slice(before), dialect);
    }
  }
  return records;
}
