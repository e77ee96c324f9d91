/** The formats of exports (docs/spec/queries.md, "Exports"). */
export const exportFormats = ['csv', 'tsv', 'ndjson', 'json', 'parquet', 'xlsx'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** The separators of cells in exported CSV. */
export const csvDelimiters = [',', ';', '\t', '|'] as const;

/** How CSV is written. */
export interface CsvForm {
  readonly delimiter: (typeof csvDelimiters)[number];
  /** Whether to write CSV for Excel (src/language/formats/excel-csv-writer.ts). */
  readonly excel: boolean;
}

export const plainCsv: CsvForm = { delimiter: ',', excel: false };
