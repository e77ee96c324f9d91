/** The formats that a table can be exported in (docs/spec/queries.md, "Exports"). */
export const exportFormats = ['csv', 'tsv', 'ndjson', 'json', 'parquet', 'xlsx'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** What may stand between the cells of CSV that is exported. */
export const csvDelimiters = [',', ';', '\t', '|'] as const;

/** How CSV is written. */
export interface CsvForm {
  readonly delimiter: (typeof csvDelimiters)[number];
  /** Whether people open it in Excel (src/language/formats/delimited-row-writer.ts). */
  readonly excel: boolean;
}

export const plainCsv: CsvForm = { delimiter: ',', excel: false };
