/** The operations of the row routes. */
import { z } from 'zod';
import { addRowsBody } from '../../../../commands/add-rows.ts';
import { stashReference } from '../../../../commands/inputs.ts';
import { json, type Operation } from '../openapi/operation.ts';
import { accepted } from '../jobs/jobs-operations.ts';
import { rowLinks } from '../openapi/links.ts';
import {
  cellsOf,
  continuation,
  examples,
  inputTexts,
  inputRow,
  inputRows,
  nothing,
  row,
  rowIds,
} from '../openapi/schemas.ts';

const firstRow = { $rowID: examples.rowIds[0]!, name: 'Ada', born: '1815-12-10' };
const cellErrors = ['column_id_not_found', 'column_has_invalid_value', 'column_id_reserved'] as const;

const queryErrors = ['column_id_not_found', 'column_has_invalid_value'] as const;

const version: Operation = {
  operationId: 'getRowsVersion',
  tag: 'Rows',
  summary: "Get the version of a table's rows",
  description:
    "The version as `ETag`. It rises with each change of the table's data: ask again to find out whether there was one.",
  answers: { 200: { description: 'The table has the version in `ETag`.', versioned: true } },
  errors: ['table_not_found'],
};

const list: Operation = {
  operationId: 'listRows',
  tag: 'Rows',
  summary: 'List rows',
  description:
    "A page of the table's rows, in the order in which they were added. While rows remain, the answer has a " +
    '`continuation`; the last page has none. A page may have fewer rows than asked for. With `Accept: text/csv` it is CSV.',
  answers: {
    200: {
      description: 'Rows, and where to go on.',
      versioned: true,
      headersAtTimes: ['Tablog-Count', 'Tablog-Cache', 'Tablog-Continuation', 'Link'],
      body: {
        ...json(
          z.strictObject({
            data: z.array(row),
            continuation,
          }),
          {
            'a page': { data: [firstRow], continuation: 'AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABx2nWk0aE' },
            'the last page': { data: [firstRow] },
          },
        ),
        ...cellsOf('A line with `$rowID` and the IDs of the columns in their order, and a line for each row.', {
          'a page': '$rowID,name,born\nAAAAAAAAAAEAAAAAAAAAAA,Ada,1815-12-10\n',
        }),
      },
    },
  },
  errors: [
    'continuation_expired',
    'payment_required',
    'table_not_found',
    'limit_exceeded',
    'query_timeout',
    ...queryErrors,
  ],
};

const add: Operation = {
  operationId: 'addRows',
  tag: 'Rows',
  summary: 'Add rows',
  description: 'All of the rows, or none of them if there is an error. A `$rowID` in a row is ignored.',
  ifMatch: 'table',
  asynchronous: true,
  body: {
    ...json(z.union([inputRows, addRowsBody.extend({ rows: inputRows }), stashReference]), {
      'rows': examples.inputRows,
      'rows in an object': { rows: examples.inputRows },
      'the rows of a stash': { $stashID: 'import-7' },
    }),
    ...inputTexts,
  },
  answers: {
    201: {
      description: 'The rows were added.',
      versioned: true,
      headersAtTimes: ['Tablog-Dropped-Cells', 'Tablog-Short-Lines', 'Tablog-Notes'],
      body: json(z.strictObject({ data: z.strictObject({ rowIDs: rowIds }) }), {
        added: { data: { rowIDs: examples.rowIds } },
      }),
      links: rowLinks('$request.path.tableID'),
    },
    202: accepted,
  },
  errors: ['stash_not_found', 'payment_required', 'table_not_found', ...cellErrors, 'column_id_not_unique'],
};

const get: Operation = {
  operationId: 'getRow',
  tag: 'Rows',
  summary: 'Get a row',
  description: 'The row with its ID, and its version as `ETag`.',
  answers: {
    200: {
      description: 'The row.',
      versioned: true,
      body: json(z.strictObject({ data: row }), { row: { data: firstRow } }),
    },
  },
  errors: ['payment_required', 'table_not_found', 'row_not_found'],
};

const patch: Operation = {
  operationId: 'updateRow',
  tag: 'Rows',
  summary: 'Update a row',
  description:
    'Sets the columns that the body names; null empties one. The others stay as they are. A `$rowID` in the body must ' +
    'be that of the row.',
  ifMatch: 'row',
  body: json(inputRow, { 'set one column, empty another': { name: 'Ada Lovelace', born: null } }),
  answers: {
    200: {
      description: 'The row was updated. Its version is in `ETag`.',
      versioned: true,
      headersAtTimes: ['Tablog-Dropped-Cells'],
      body: json(nothing, { updated: {} }),
    },
  },
  errors: ['payment_required', 'table_not_found', 'row_not_found', ...cellErrors],
};

const remove: Operation = {
  operationId: 'deleteRow',
  tag: 'Rows',
  summary: 'Delete a row',
  description: 'That there is no such row is no error. The version of the table is in `ETag`.',
  ifMatch: 'row',
  answers: {
    200: {
      description: 'The row was deleted, or did not exist.',
      versioned: true,
      body: json(nothing, { deleted: {} }),
    },
  },
  errors: ['payment_required', 'table_not_found'],
};

export const rowOperations = { version, list, add, get, patch, remove };
