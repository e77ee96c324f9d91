/** The headers of requests whose bodies are CSV or TSV. */
export const csv = { 'content-type': 'text/csv' };
export const tsv = { 'content-type': 'text/tab-separated-values' };
