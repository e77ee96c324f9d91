/** The flags of `tablog import` that say how the text of a file is to be read. */
import { InvalidArgumentError } from 'commander';
import { delimiters, type Delimiter } from '../../formats/delimited-records.ts';

/** Parses `--delimiter`. */
export function parseDelimiter(text: string): Delimiter {
  const found = delimiters.find((delimiter) => delimiter === (/^(tab|\\t)$/i.test(text) ? '\t' : text));
  if (found === undefined) throw new InvalidArgumentError('It must be , or ; or | or tab.');
  return found;
}

/** Parses `--encoding`: a name that the Encoding Standard has. */
export function parseEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    // TextDecoder throws only for a name that it does not know.
    throw new InvalidArgumentError('It must be the name of an encoding, such as utf-8, windows-1252, latin1 or utf-16le.');
  }
}
