/** What stands between the cells of a file, and how it is changed. */
import Papa from 'papaparse';
import { delimiters, type Delimiter } from '../../src/formats/delimited-records.ts';

/** The one that occurs most in a header line, outside of quotes; the comma if none does. */
export function recogniseDelimiter(header: string): Delimiter {
  const unquoted = header.replaceAll(/"[^"]*"/g, '');
  const countOf = (delimiter: Delimiter): number => unquoted.split(delimiter).length;
  return delimiters.toSorted((a, b) => countOf(b) - countOf(a))[0]!;
}

/** A record, without its line end, that has another delimiter between its cells. It must be free of mistakes. */
export function withDelimiter(record: string, from: Delimiter, to: Delimiter): string {
  if (!record.includes('"') && !record.includes(to)) return record.replaceAll(from, to);
  const { data } = new Papa.Parser({ delimiter: from, newline: '\n' }).parse(record, 0, false) as Papa.ParseResult<string[]>;
  return Papa.unparse(data, { delimiter: to, newline: '\n' });
}
