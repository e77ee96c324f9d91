/** The operation of the export route. */
import { z } from 'zod';
import type { ExportFormat } from '../../query/language/export-format.ts';
import type { Operation } from '../openapi/operation.ts';

export const exportMediaTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

const text = z.string();

const exportTable: Operation = {
  operationId: 'exportTable',
  tag: 'Rows',
  summary: 'Export rows',
  description:
    'The rows of the table as a file: all of them, or those that meet a filter, at one version, which is in `ETag`. `$rowID` is its first column. JSON is a bare array, without `data`. ' +
    'The file is made while it is sent: a connection that breaks off before its end means that some of it is missing.',
  formatParameter: 'format',
  answers: {
    200: {
      description: 'The file.',
      versioned: true,
      headers: ['Content-Disposition', 'Tablog-Cache'],
      body: {
        [exportMediaTypes.csv]: {
          schema: text,
          examples: { csv: '$rowID,name,born\nAAAAAAAAAAEAAAAAAAAAAA,Ada,1815-12-10\n' },
        },
        [exportMediaTypes.tsv]: {
          schema: text,
          examples: { tsv: '$rowID\tname\tborn\nAAAAAAAAAAEAAAAAAAAAAA\tAda\t1815-12-10\n' },
        },
        [exportMediaTypes.ndjson]: {
          schema: text,
          examples: { ndjson: '{"$rowID":"AAAAAAAAAAEAAAAAAAAAAA","name":"Ada","born":"1815-12-10"}\n' },
        },
        [exportMediaTypes.json]: {
          schema: z.array(z.looseObject({ $rowID: z.string() })),
          examples: { json: [{ $rowID: 'AAAAAAAAAAEAAAAAAAAAAA', name: 'Ada', born: '1815-12-10' }] },
        },
        [exportMediaTypes.parquet]: { schema: z.string().meta({ format: 'binary' }), examples: { parquet: 'PAR1...' } },
        [exportMediaTypes.xlsx]: { schema: z.string().meta({ format: 'binary' }), examples: { xlsx: 'PK...' } },
      },
    },
  },
  errors: [
    'payment_required',
    'table_not_found',
    'limit_exceeded',
    'query_timeout',
    'column_id_not_found',
    'column_has_invalid_value',
  ],
};

export const exportOperations = { exportTable };
