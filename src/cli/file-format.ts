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

/** Parses `--format` of an export: also `parquet`, which the service makes, and which has a compression of its own. */
export function parseExportFormat(text: string): FileFormat | 'parquet' {
  if (text.toLowerCase() === 'parquet') return 'parquet';
  const { format, compression } = formatOfName(`.${text}`);
  if (format === null || /[/\\]/.test(text)) throw new InvalidArgumentError(`It must be ${formats.join(', ')}, or parquet, the first four with .gz or .zst behind them if the file is to be compressed so.`);
  return { format, compression };
}

/** Whether a file is to be Parquet: as the given format says, else as its name does. Throws UserError if its name adds a compression. */
export function isParquet(file: string | null, given: FileFormat | 'parquet' | undefined): given is 'parquet' | undefined {
  if (given !== undefined) return given === 'parquet';
  if (file !== null && /\.parquet\.(gz|zst)$/i.test(file)) throw new UserError(`Parquet is compressed already: leave ${file.slice(file.lastIndexOf('.'))} away.`);
  return file !== null && /\.parquet$/i.test(file);
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
