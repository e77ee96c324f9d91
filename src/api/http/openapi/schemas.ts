/** Schemas and examples that several operations share. */
import { z } from 'zod';
import { columnIdBytesMax, wholeText } from '../../../../commands/inputs.ts';
import { scalarKinds } from '../../../language/values/column-type.ts';
import type { Content, Contents } from './operation.ts';

export const tableId = z.uuid().meta({ description: 'The ID of the table.' });

const rowId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{22}$/)
  .meta({ description: 'The ID of the row.' });

export const rowIds = z.array(rowId).meta({ description: 'The IDs of the rows, in the order of the input.' });

export const continuation = z
  .string()
  .optional()
  .meta({ description: 'Send it to get the next page. Opaque; the last page lacks it.' });

const kind = z.enum(scalarKinds);

/** The type of a column, as answers spell it. */
export const outputColumnType = z.union([
  kind,
  z.strictObject({ kind: z.literal('array'), items: z.strictObject({ kind }) }),
]);

/** The value of a column; empty columns are left out. */
const cell = z.union([z.string(), z.number(), z.boolean(), z.array(z.unknown()), z.looseObject({})]);

export const outputRow = z.object({ $rowID: rowId }).catchall(cell).meta({
  id: 'Row',
  description: 'A row: its ID, and the values of its columns by column ID. Empty columns are left out.',
});

export const inputRow = z.looseObject({}).meta({
  id: 'InputRow',
  propertyNames: { minLength: 1, maxLength: columnIdBytesMax, pattern: wholeText },
  description: "The values of a row's columns by column ID. A column that is null or left out is empty.",
});

export const inputRows = z.array(inputRow);

/** Errors of the cells of rows. */
export const cellErrors = [
  'key_not_unique',
  'column_id_not_found',
  'column_has_invalid_value',
  'column_id_reserved',
] as const;

const cells =
  'CSV as in RFC 4180, in UTF-8. The first line names the columns, and each later line is a row. An empty cell is an empty column.';

const aLine = z.string().regex(/[^\r\n]/);

const lines = {
  schema: z.string().regex(/[{]/).meta({
    description:
      'Each line is a row: a JSON object in UTF-8 with the values of its columns by column ID. A column that is null or left out is empty.',
  }),
  examples: { rows: '{"name":"Ada","born":"1815-12-10"}\n{"name":"Grace","tags":["navy"]}\n' },
};

/** Rows as NDJSON, CSV or TSV. */
export const inputTexts: Contents = {
  'application/x-ndjson': lines,
  'application/ndjson': lines,
  'application/jsonl': lines,
  'text/csv': {
    schema: aLine.meta({ description: cells }),
    examples: { rows: 'name,born\nAda,1815-12-10\n"Hopper, Grace",1906-12-09\n' },
  },
  'text/tab-separated-values': {
    schema: aLine.meta({ description: `${cells} Cells are separated by tabs.` }),
    examples: { rows: 'name\tborn\nAda\t1815-12-10\nGrace\t\n' },
  },
};

/** Rows, or groups of them, as CSV. */
export function cellsOf(description: string, examples: Content['examples']): Contents {
  return { 'text/csv': { schema: z.string().meta({ description }), examples } };
}

/** The `data` of the answer to a write without a result. */
export const nothing = z.strictObject({});

const rowIdExamples = ['AAAAAAAAAAEAAAAAAAAAAA', 'AAAAAAAAAAEAAAAAAAAAAQ'] as const;

export const examples = {
  tableId: '0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e',
  rowIds: rowIdExamples,
  row: { $rowID: rowIdExamples[0], name: 'Ada', born: '1815-12-10' },
  columns: [
    { id: 'name', type: 'string' },
    { id: 'born', displayName: 'Born on', type: 'date' },
  ],
  inputRows: [
    { name: 'Ada', born: '1815-12-10' },
    { name: 'Grace', born: '1906-12-09', tags: ['navy'] },
  ],
};
