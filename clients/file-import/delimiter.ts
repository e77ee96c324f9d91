/** What stands between the cells of a file, and how it is changed. */
import Papa from 'papaparse';
import { delimiters, type Delimiter } from '../../src/formats/delimited-records.ts';

/** By how many lines of the beginning of a file its delimiter is recognised, and how many bytes at most. */
const sample = { lines: 100, bytes: 64 * 1024 };
const lineFeed = 10;

/**
 * Where the beginning ends by which the delimiter of a text is recognised; null while more bytes are needed. It is the same however the bytes arrive.
 * @param end of the bytes that have arrived
 */
export function endOfSample(bytes: Buffer, start: number, end: number): number | null {
  const last = Math.min(end, start + sample.bytes);
  let next = start;
  for (let lines = 0; lines < sample.lines; lines += 1) {
    const found = bytes.indexOf(lineFeed, next);
    if (found === -1 || found >= last) return last === start + sample.bytes ? last : null;
    next = found + 1;
  }
  return next;
}

/**
 * The delimiter with which most of the first records have as many cells as the header; of several such the one that makes most cells of the header. A
 * header such as `Preis, netto;Menge, Stk` has more commas than semicolons, but the lines below have not. The comma if the header is one cell with each.
 * @param beginning of the text: the header, and as much behind it as is known
 * @param isWhole whether that is the whole text; else its last record may be cut off
 */
export function recogniseDelimiter(beginning: string, isWhole: boolean): Delimiter {
  const candidates = delimiters.map((delimiter) => ({ delimiter, ...compareRecords(beginning, delimiter, isWhole) })).filter(({ cells }) => cells > 1);
  return candidates.toSorted((a, b) => b.alike - a.alike || b.cells - a.cells)[0]?.delimiter ?? ',';
}

/** How many cells the header has, and which part of the records below it has as many. */
function compareRecords(beginning: string, delimiter: Delimiter, isWhole: boolean): { readonly cells: number; readonly alike: number } {
  const { data: [header = [], ...records], meta } = new Papa.Parser({ delimiter, newline: '\n' }).parse(beginning, 0, false) as Papa.ParseResult<string[]>;
  if (!isWhole && meta.cursor === beginning.length && records.length > 0) records.pop();
  const compared = records.filter((cells) => cells.length > 1 || cells[0]!.trim() !== '');
  const alike = compared.length === 0 ? 1 : compared.filter(({ length }) => length === header.length).length / compared.length;
  return { cells: header.length, alike };
}

/** A record, without its line end, that has another delimiter between its cells. It must be free of mistakes. */
export function withDelimiter(record: string, from: Delimiter, to: Delimiter): string {
  if (!record.includes('"') && !record.includes(to)) return record.replaceAll(from, to);
  const { data } = new Papa.Parser({ delimiter: from, newline: '\n' }).parse(record, 0, false) as Papa.ParseResult<string[]>;
  const text = Papa.unparse(data, { delimiter: to, newline: '\n' });
  // A blank line would be no record.
  return text === '' ? '""' : text;
}
