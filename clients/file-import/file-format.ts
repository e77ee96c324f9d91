/** File formats of import and export, and how the extension of a file name determines them. */

/** Text formats. Export writes them too. */
export const textFormats = ['csv', 'tsv', 'json', 'ndjson'] as const;
export type TextFormat = (typeof textFormats)[number];

/** `xlsx`: a workbook of Excel, with or without macros. */
export const formats = [...textFormats, 'xlsx'] as const;
export type Format = (typeof formats)[number];

export type Compression = 'gzip' | 'zstd';

const formatsByEnding: Readonly<Record<string, Format>> = {
  csv: 'csv',
  tsv: 'tsv',
  tab: 'tsv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  xlsx: 'xlsx',
  xlsm: 'xlsx',
};
const compressionsByEnding: Readonly<Record<string, Compression>> = { gz: 'gzip', zst: 'zstd' };

/** The format and compression in a file name's extensions (`cars.csv.gz`); null if it has none. */
export function formatOfName(name: string): {
  readonly format: Format | null;
  readonly compression: Compression | null;
} {
  const endings = name.toLowerCase().split('/').at(-1)!.split('.').slice(1);
  const compression = compressionsByEnding[endings.at(-1) ?? ''] ?? null;
  const format = formatsByEnding[endings.at(compression === null ? -1 : -2) ?? ''] ?? null;
  return { format, compression };
}
