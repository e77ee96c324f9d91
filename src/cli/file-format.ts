/** The format of a file as the command line is told it. */
import { InvalidArgumentError } from 'commander';
import { formatOfName, formats, type Compression, type Format } from '../../clients/file-import/file-format.ts';
import { UserError } from './user-error.ts';

export interface FileFormat {
  readonly format: Format;
  /** Null: not compressed. */
  readonly compression: Compression | null;
}

/** Parses `--format`: a format, and optionally its compression (`csv.gz`). */
export function parseFormat(text: string): FileFormat {
  const { format, compression } = formatOfName(`.${text}`);
  if (format === null || /[/\\]/.test(text)) {
    throw new InvalidArgumentError(`It must be ${listOf(formats)}, with .gz or .zst behind it if it is compressed so.`);
  }
  return { format, compression };
}

/** The format of a file: the given one, else that of the file's name. Throws UserError if neither has one. */
export function formatOf(file: string, given: FileFormat | undefined): FileFormat {
  const named = formatOfName(file);
  if (given !== undefined) return { format: given.format, compression: given.compression ?? named.compression };
  if (named.format !== null) return { format: named.format, compression: named.compression };
  throw new UserError(file === '-'
    ? `What comes on stdin has no name: give --format ${listOf(formats)}.`
    : `The name ${file} does not tell its format: give --format ${listOf(formats)}.`);
}

function listOf(items: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(items);
}
