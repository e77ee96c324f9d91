/** The ways to read a file, for the controls. */
import { formatOfName, type Format } from '../../../clients/file-import/file-format.ts';
import type { Delimiter } from '../../../src/language/formats/delimited-records.ts';

export const formatTitles: readonly (readonly [value: Format, title: string])[] = [
  ['csv', 'CSV'],
  ['tsv', 'TSV'],
  ['json', 'JSON'],
  ['ndjson', 'NDJSON (JSON lines)'],
  ['xlsx', 'Excel workbook (.xlsx)'],
];

export const delimiterTitles: readonly (readonly [value: Delimiter, title: string])[] = [
  [',', 'commas'],
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'vertical bars'],
];

/** A byte order mark overrides the chosen encoding. */
export const encodings = [
  ['utf-8', 'UTF-8'],
  ['windows-1252', 'Western European (Windows-1252, Latin-1)'],
  ['windows-1250', 'Central European (Windows-1250)'],
  ['windows-1251', 'Cyrillic (Windows-1251)'],
  ['utf-16le', 'UTF-16'],
  ['macintosh', 'Mac OS Roman'],
  ['shift_jis', 'Japanese (Shift JIS)'],
  ['gbk', 'Chinese (GBK)'],
  ['big5', 'Chinese (Big5)'],
  ['euc-kr', 'Korean (EUC-KR)'],
] as const;

/** The format by the name of the file; CSV if the name does not tell. */
export function guessFormat(fileName: string): Format {
  return formatOfName(fileName).format ?? 'csv';
}

/** The name of a file without its extensions: `cars` for `cars.csv.gz`. */
export function tableNameOf(fileName: string): string {
  const { format, compression } = formatOfName(fileName);
  const endings = (format === null ? 0 : 1) + (compression === null ? 0 : 1);
  return endings === 0 ? fileName : fileName.split('.').slice(0, -endings).join('.') || fileName;
}
