/** File formats of import and export, and how a file name's extension determines them. */
import { InvalidArgumentError } from 'commander';
import { UserError } from './user-error.ts';

export const formats = ['csv', 'tsv', 'json', 'ndjson'] as const;
export type Format = (typeof formats)[number];

export type Compression = 'gzip' | 'zstd';

export interface FileFormat {
  readonly format: Format;
  /** Null: not compressed. */
  readonly compression: Compression | null;
}

const formatsByEnding: Readonly<Record<string, Format>> = {
  csv: 'csv', tsv: 'tsv', tab: 'tsv', json: 'json', ndjson: 'ndjson', jsonl: 'ndjson',
};
const compressionsByEnding: Readonly<Record<string, Compression>> = { gz: 'gzip', zst: 'zstd' };

/** The format and compression in a file name's extensions (`cars.csv.gz`); null if it has none. */
export function formatOfName(name: string): { readonly format: Format | null; readonly compression: Compression | null } {
  const endings = name.toLowerCase().split('/').at(-1)!.split('.').slice(1);
  const compression = compressionsByEnding[endings.at(-1) ?? ''] ?? null;
  const format = formatsByEnding[endings.at(compression === null ? -1 : -2) ?? ''] ?? null;
  return { format, compression };
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
