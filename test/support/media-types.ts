/** The headers of requests whose bodies are CSV, TSV or NDJSON. */
export const csv = { 'content-type': 'text/csv' };
export const tsv = { 'content-type': 'text/tab-separated-values' };
export const ndjson = { 'content-type': 'application/x-ndjson' };
