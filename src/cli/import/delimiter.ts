/** What stands between the cells of a file: told by a flag, or recognised from the header line. */
import { InvalidArgumentError } from 'commander';
import Papa from 'papaparse';
import { delimiters, type Delimiter } from '../../formats/delimited-records.ts';

const names: Readonly<Record<Delimiter, string>> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' };

/** Parses `--delimiter`. */
export function parseDelimiter(text: string): Delimiter {
  const found = delimiters.find((delimiter) => delimiter === (/^(tab|\\t)$/i.test(text) ? '\t' : text));
  if (found === undefined) throw new InvalidArgumentError('It must be , or ; or | or tab.');
  return found;
}

/** The one that occurs most in a header line, outside of quotes; the comma if none does. */
export function recogniseDelimiter(header: string): Delimiter {
  const unquoted = header.replaceAll(/"[^"]*"/g, '');
  const countOf = (delimiter: Delimiter): number => unquoted.split(delimiter).length;
  return delimiters.toSorted((a, b) => countOf(b) - countOf(a))[0]!;
}

/** What the user is told of a delimiter that was recognised. */
export function describeDelimiter(delimiter: Delimiter): string {
  return `By its first line the file has ${names[delimiter]} between its cells. If that is wrong, give --delimiter.`;
}

/** A record, without its line end, that has another delimiter between its cells. It must be free of mistakes. */
export function withDelimiter(record: string, from: Delimiter, to: Delimiter): string {
  if (!record.includes('"') && !record.includes(to)) return record.replaceAll(from, to);
  const { data } = new Papa.Parser({ delimiter: from, newline: '\n' }).parse(record, 0, false) as Papa.ParseResult<string[]>;
  return Papa.unparse(data, { delimiter: to, newline: '\n' });
}
