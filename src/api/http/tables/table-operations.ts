/** The operations of the routes of a single table. */
import { z } from 'zod';
import { patchTableBody } from '../../../../commands/patch-table.ts';
import { json, type Operation } from '../openapi/operation.ts';
import { columnType, examples, nothing, tableId } from '../openapi/schemas.ts';

const column = z
  .strictObject({
    id: z.string(),
    displayName: z.string().optional(),
    type: columnType,
  })
  .meta({ id: 'Column', description: 'As a request may have it too.' });

const table = z
  .strictObject({
    id: tableId,
    name: z.string(),
    version: z
      .string()
      .regex(/^[0-9]+$/)
      .meta({ description: 'The version of the table, as in `ETag`.' }),
    created: z.iso.datetime().meta({ description: 'When it was created.' }),
    rows: z.int().min(0).meta({ description: 'How many rows it has.' }),
    schema: z.strictObject({ columns: z.array(column) }).meta({ description: 'Its columns in their order.' }),
    appIDs: z.array(z.string()).meta({ description: 'The apps that it was linked to.' }),
  })
  .meta({ id: 'Table' });

const get: Operation = {
  operationId: 'getTable',
  tag: 'Tables',
  summary: 'Get a table',
  description: 'What it is called, its schema, how many rows it has, and its version as `ETag`.',
  answers: {
    200: {
      description: 'The table.',
      versioned: true,
      body: json(z.strictObject({ data: table }), {
        table: {
          data: {
            id: examples.tableId,
            name: 'people',
            version: '42',
            created: '2026-01-02T03:04:05.678Z',
            rows: 2,
            schema: {
              columns: [
                { id: 'name', type: 'string' },
                { id: 'born', displayName: 'Born on', type: 'date' },
              ],
            },
            appIDs: [],
          },
        },
      }),
    },
  },
  errors: ['payment_required', 'table_not_found'],
};

const patch: Operation = {
  operationId: 'updateTable',
  tag: 'Tables',
  summary: 'Rename a table or its columns',
  description:
    'Gives the table another name, and columns other names to be shown under; null takes such a name away. What the body ' +
    'does not name stays as it is.',
  ifMatch: 'table',
  body: json(patchTableBody, {
    'another name': { name: 'persons' },
    'a column that is shown under another name': { columns: [{ id: 'born', displayName: 'Birthday' }] },
  }),
  answers: {
    200: {
      description: 'The table was updated. Its version is in `ETag`.',
      versioned: true,
      body: json(nothing, { updated: {} }),
    },
  },
  errors: ['payment_required', 'table_not_found', 'column_id_not_found', 'column_id_not_unique'],
};

const remove: Operation = {
  operationId: 'deleteTable',
  tag: 'Tables',
  summary: 'Delete a table',
  description: 'With all its rows. That there is no such table is no error.',
  ifMatch: 'table',
  answers: { 200: { description: 'The table was deleted, or did not exist.', body: json(nothing, { deleted: {} }) } },
  errors: ['payment_required'],
};

export const oneTableOperations = { get, patch, remove };
