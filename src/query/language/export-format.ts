/** The formats that a table can be exported in (docs/spec/queries.md, "Exports"). */
export const exportFormats = ['csv', 'tsv', 'ndjson', 'json', 'parquet', 'xlsx'] as const;
export type ExportFormat = (typeof exportFormats)[number];
