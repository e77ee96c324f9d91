/** The formats of files that are imported and exported, and how they are told by the ending of a file's name. */
import { InvalidArgumentError } from 'commander';
import { UserError } from './run-to-end.ts';

export const formats = ['csv', 'tsv', 'json', 'ndjson'] as const;
export type Format = (typeof formats)[number];

export type Compression = 'gzip' | 'zstd';

export interface FileFormat {
  readonly format: Format;
  /** Null: it is not compressed. */
  readonly compression: Compression | null;
}

const formatsByEnding: Readonly<Record<string, Format>> = {
  csv: 'csv', tsv: 'tsv', tab: 'tsv', json: 'json', ndjson: 'ndjson', jsonl: 'ndjson',
};
const compressionsByEnding: Readonly<Record<string, Compression>> = { gz: 'gzip', zst: 'zstd' };

/** What the ending of a name says (`cars.csv.gz`); null for what it does not say. */
export function formatOfName(name: string): { readonly format: Format | null; readonly compression: Compression | null } {
  const endings = name.toLowerCase().split('/').at(-1)!.split('.').slice(1);
  const compression = compressionsByEnding[endings.at(-1) ?? ''] ?? null;
  const format = formatsByEnding[endings.at(compression === null ? -1 : -2) ?? ''] ?? null;
  return { format, compression };
}

/** What `--format` may say: a format, and how it is compressed (`csv.gz`) where the name of the file does not say it. */
export function parseFormat(text: string): FileFormat {
  const { format, compression } = formatOfName(`.${text}`);
  if (format === null || /[/\\]/.test(text)) {
    throw new InvalidArgumentError(`It must be ${listOf(formats)}, with .gz or .zst behind it if it is compressed so.`);
  }
  return { format, compression };
}

/** The format of a file: as it is given, or else as the file's name says. Throws UserError if neither says one. */
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
