/** The operations of the table routes. */
import { z } from 'zod';
import { createTableBody } from '../../../../commands/create-table.ts';
import { stashReference } from '../../../../commands/inputs.ts';
import { overwriteTableBody } from '../../../../commands/overwrite-table.ts';
import { json, type Operation } from '../openapi/operation.ts';
import { accepted, acceptedTable } from '../jobs/jobs-operations.ts';
import { rowLinks, tableLinks } from '../openapi/links.ts';
import { continuation, examples, inputTexts, inputRows, rowIds, tableId } from '../openapi/schemas.ts';

const tableSummary = z.strictObject({ id: tableId, name: z.string() }).meta({ id: 'TableSummary' });

const created = z.strictObject({
  tableID: tableId,
  rowIDs: rowIds,
  linkedAppIDs: z
    .array(z.string())
    .optional()
    .meta({ description: 'The apps that are linked now. Left out when none was asked for.' }),
});

const schema = {
  columns: [
    { id: 'name', type: 'string' },
    { id: 'born', displayName: 'Born on', type: 'date' },
  ],
};

const list: Operation = {
  operationId: 'listTables',
  tag: 'Tables',
  summary: 'List tables',
  description:
    "A page of the team's tables, in the order in which they were created: 10,000 unless fewer are asked for. While tables remain, " +
    'the answer has a `continuation`; the last page has none. Tables that are created or deleted between two pages neither hide nor repeat ' +
    'others. Names need not be unique.',
  answers: {
    200: {
      description: 'Tables, and where to go on.',
      body: json(z.strictObject({ data: z.array(tableSummary), continuation }), {
        'all tables': { data: [{ id: examples.tableId, name: 'people' }] },
        'a page': {
          data: [{ id: examples.tableId, name: 'people' }],
          continuation: 'AAAAAAAAAAEBoCJqxPh_koACAAAAAAAABx2nWk0aE',
        },
      }),
    },
  },
};

const create: Operation = {
  operationId: 'createTable',
  tag: 'Tables',
  summary: 'Create a table',
  description:
    'With its first rows. Without a schema, and of NDJSON, CSV and TSV, it is inferred from them. Its name stands in the body ' +
    'or in the query: one of them, and not both. A team has at most 10,000 tables, unless its plan or the service is set otherwise.',
  asynchronous: true,
  body: {
    ...json(
      z.union([
        createTableBody.extend({ rows: z.union([inputRows, stashReference]) }).meta({ id: 'NewTable' }),
        inputRows,
      ]),
      {
        'with a schema': { name: 'people', schema, rows: [{ name: 'Ada', born: '1815-12-10' }] },
        'with an inferred schema': { name: 'people', rows: examples.inputRows },
        'rows alone, the name in the query': examples.inputRows,
      },
    ),
    ...inputTexts,
  },
  answers: {
    201: {
      description: 'The table was created.',
      versioned: true,
      headersAtTimes: ['Tablog-Dropped-Cells', 'Tablog-Short-Lines', 'Tablog-Notes'],
      body: json(z.strictObject({ data: created }), {
        'created': { data: { tableID: examples.tableId, rowIDs: examples.rowIds } },
        'created and linked': { data: { tableID: examples.tableId, rowIDs: [], linkedAppIDs: ['app-1'] } },
      }),
      links: [...tableLinks, ...rowLinks('$response.body#/data/tableID')],
    },
    202: acceptedTable,
  },
  errors: [
    'stash_not_found',
    'payment_required',
    'column_id_not_found',
    'column_has_invalid_value',
    'column_id_reserved',
    'column_id_not_unique',
  ],
};

const overwrite: Operation = {
  operationId: 'overwriteTable',
  tag: 'Tables',
  summary: 'Overwrite a table',
  description:
    'Replaces all rows in one step: readers see all of the old rows or all of the new. A schema replaces that of the ' +
    'table; without one the rows must fit it. A row with the `$rowID` of one that the table ever had keeps that identity; ' +
    'in CSV and TSV a column `$rowID` holds them.',
  ifMatch: 'table',
  asynchronous: true,
  body: {
    ...json(
      z.union([
        overwriteTableBody.extend({ rows: z.union([inputRows, stashReference]) }).meta({ id: 'TableContent' }),
        inputRows,
        stashReference,
      ]),
      {
        'rows': examples.inputRows,
        'rows that keep their identity': [{ $rowID: examples.rowIds[0]!, name: 'Ada', born: '1815-12-10' }],
        'rows and a schema': { schema, rows: [{ name: 'Ada', born: '1815-12-10' }] },
        'no rows': [],
        'the rows of a stash': { $stashID: 'import-7' },
      },
    ),
    ...inputTexts,
  },
  answers: {
    200: {
      description: 'The rows were replaced.',
      versioned: true,
      headersAtTimes: ['Tablog-Dropped-Cells', 'Tablog-Short-Lines', 'Tablog-Notes'],
      body: json(z.strictObject({ data: z.strictObject({ rowIDs: rowIds }) }), {
        overwritten: { data: { rowIDs: examples.rowIds } },
      }),
      links: rowLinks('$request.path.tableID'),
    },
    202: accepted,
  },
  errors: [
    'stash_not_found',
    'payment_required',
    'table_not_found',
    'column_id_not_found',
    'column_has_invalid_value',
    'column_id_reserved',
    'column_id_not_unique',
  ],
};

export const tableOperations = { list, create, overwrite };
