/** File formats on the command line: from `--format`, or from the name of a file. */
import { InvalidArgumentError } from 'commander';
import {
  formatOfName,
  formats,
  textFormats,
  type Compression,
  type Format,
  type TextFormat,
} from '../../clients/file-import/file-format.ts';
import { csvDelimiters, type CsvForm } from '../api/query/language/export-format.ts';
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
    throw new InvalidArgumentError(`It must be ${listOf(formats)}; add .gz or .zst if it is compressed.`);
  }
  return { format, compression };
}

/** Formats that the service writes as a whole, already compressed. */
const wholeFormats = ['parquet', 'xlsx'] as const;
export type WholeFormat = (typeof wholeFormats)[number];

/** A text format, which an export writes page by page. */
export interface TextFileFormat extends FileFormat {
  readonly format: TextFormat;
}

/** Parses `--format` of an export. */
export function parseExportFormat(text: string): TextFileFormat | WholeFormat {
  const whole = wholeFormats.find((name) => name === text.toLowerCase());
  if (whole !== undefined) return whole;
  const { format, compression } = formatOfName(`.${text}`);
  if (format === null || format === 'xlsx' || /[/\\]/.test(text)) {
    throw new InvalidArgumentError(
      `It must be ${textFormats.join(', ')}, parquet or xlsx. Add .gz or .zst to one of the first four to compress the file.`,
    );
  }
  return { format, compression };
}

/** Parses `--delimiter` of an export. */
export function parseExportDelimiter(text: string): CsvForm['delimiter'] {
  const found = csvDelimiters.find((delimiter) => delimiter === (/^(tab|\\t)$/i.test(text) ? '\t' : text));
  if (found === undefined) throw new InvalidArgumentError('It must be , or ; or | or tab.');
  return found;
}

/**
 * The format of an export: the given one; without one, the format of the file's name, or CSV on stdout (`file` is
 * null). Throws UserError.
 */
export function exportFormatOf(
  file: string | null,
  given: TextFileFormat | WholeFormat | undefined,
): TextFileFormat | WholeFormat {
  if (typeof given === 'string') return given;
  if (file === null) return given ?? { format: 'csv', compression: null };
  const [, named, compression] = given === undefined ? (/\.(parquet|xlsx)(\.gz|\.zst)?$/i.exec(file) ?? []) : [];
  if (compression !== undefined)
    throw new UserError(
      `${named!.toLowerCase() === 'xlsx' ? 'A workbook' : 'Parquet'} is compressed already: leave out ${compression}.`,
    );
  if (named !== undefined) return named.toLowerCase() as WholeFormat;
  const { format, compression: textCompression } = formatOf(file, given);
  // The name ends in .xlsm, but an export has no macros.
  if (format === 'xlsx') throw new UserError('An exported workbook needs the ending .xlsx.');
  return { format, compression: textCompression };
}

/**
 * The format of a file: the given one or, without one, the format of its name. Throws UserError if the name has none.
 */
export function formatOf(file: string, given: FileFormat | undefined): FileFormat {
  const named = formatOfName(file);
  if (given !== undefined) return { format: given.format, compression: given.compression ?? named.compression };
  if (named.format !== null) return { format: named.format, compression: named.compression };
  throw new UserError(
    file === '-'
      ? `stdin has no file name: give --format ${listOf(formats)}.`
      : `The name ${file} does not show its format: give --format ${listOf(formats)}.`,
  );
}

function listOf(items: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(items);
}
