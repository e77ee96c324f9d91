/** `/tables/{tableID}`: a table. Of these routes the specification has only `PUT` (4.12); see docs/decisions/0009. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { deleteTable } from '../../../../commands/delete-table.ts';
import { stashReference, tableKey } from '../../../../commands/inputs.ts';
import { overwriteTable, overwriteTableBody, overwriteTableQuery } from '../../../../commands/overwrite-table.ts';
import type { TableDetails, TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { isArrayType, itemKind, type ColumnType } from '../../../language/values/column-type.ts';
import { currentType } from '../../../language/values/table-schema.ts';
import { replyMissing } from '../answers/missing.ts';
import { writeRowsToTable, type TableRowWriteDependencies } from '../bodies/write-rows.ts';
import { accepted } from '../jobs/accepted.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import {
  cellErrors,
  outputColumnType,
  examples,
  inputRows,
  inputTexts,
  nothing,
  rowIds,
  tableId,
} from '../openapi/schemas.ts';
import { delimitedQuery } from '../requests/delimited-query.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch, readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';
import { rowLinks } from '../rows/row.ts';
import type { App } from '../server/app-type.ts';
import { identifyWithBody } from '../submit/request-identity.ts';
import { addPatchTable, type PatchTableDependencies } from './patch-table.ts';

export interface TableDependencies extends TableRowWriteDependencies, Omit<PatchTableDependencies, 'tables'> {
  readonly tables: TableQueries;
}

const overwriteOperation: Operation = {
  operationId: 'overwriteTable',
  tag: 'Tables',
  summary: 'Overwrite a table',
  description:
    'Replaces all rows in one step: readers see either all old rows or all new ones. A schema in the body replaces the schema of the ' +
    'table; otherwise the rows must fit the present one. A row with a `$rowID` that the table has ever had keeps that identity; ' +
    'in CSV and TSV the column `$rowID` has these IDs.',
  ifMatch: 'table',
  asynchronous: true,
  body: {
    ...jsonContent(
      z.union([
        overwriteTableBody.extend({ rows: z.union([inputRows, stashReference]) }).meta({ id: 'TableContent' }),
        inputRows,
        stashReference,
      ]),
      {
        'rows': examples.inputRows,
        'rows that keep their identity': [{ $rowID: examples.rowIds[0]!, name: 'Ada', born: '1815-12-10' }],
        'rows and a schema': { schema: { columns: examples.columns }, rows: [{ name: 'Ada', born: '1815-12-10' }] },
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
      body: jsonContent(z.strictObject({ data: z.strictObject({ rowIDs: rowIds }) }), {
        overwritten: { data: { rowIDs: examples.rowIds } },
      }),
      links: rowLinks('$request.path.tableID'),
    },
    202: accepted,
  },
  errors: ['stash_not_found', 'payment_required', 'table_not_found', ...cellErrors, 'column_id_not_unique'],
};

function addOverwriteTable(app: App, dependencies: TableDependencies): void {
  app.put(
    '/tables/:tableID',
    { schema: { querystring: overwriteTableQuery.extend(delimitedQuery) }, config: { operation: overwriteOperation } },
    (request, reply) =>
      writeRowsToTable(request, reply, dependencies, {
        query: request.query,
        retainIds: true,
        command: overwriteTable,
        status: 200,
      }),
  );
}

const column = z
  .strictObject({ id: z.string(), displayName: z.string().optional(), type: outputColumnType })
  .meta({ id: 'Column', description: 'A column. Requests may use the same form.' });

const table = z
  .strictObject({
    id: tableId,
    name: z.string(),
    version: z
      .string()
      .regex(/^[0-9]+$/)
      .meta({ description: 'The version of the table, as in `ETag`.' }),
    created: z.iso.datetime().meta({ description: 'When the table was created.' }),
    rows: z.int().min(0).meta({ description: 'How many rows the table has.' }),
    schema: z
      .strictObject({ columns: z.array(column), key: tableKey.optional() })
      .meta({ description: 'The columns of the table, in order, and its key if it has one.' }),
    appIDs: z.array(z.string()).meta({ description: 'The apps that the table is linked to.' }),
  })
  .meta({ id: 'Table' });

const getOperation: Operation = {
  operationId: 'getTable',
  tag: 'Tables',
  summary: 'Get a table',
  description: 'The name, the schema, the number of rows, and the version as `ETag`.',
  answers: {
    200: {
      description: 'The table.',
      versioned: true,
      body: jsonContent(z.strictObject({ data: table }), {
        table: {
          data: {
            id: examples.tableId,
            name: 'people',
            version: '42',
            created: '2026-01-02T03:04:05.678Z',
            rows: 2,
            schema: { columns: examples.columns },
            appIDs: [],
          },
        },
      }),
    },
  },
  errors: ['payment_required', 'table_not_found'],
};

function addGetTable(app: App, { tables }: TableDependencies): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const has = readIfNoneMatch(request);
    const tableId = tableIdOf(request);
    const table = await tables.table(request.principal.teamId, tableId);
    if (typeof table === 'string') return replyMissing(reply, table);
    if (has(table.version)) return replyNotModified(reply, table.version);
    setVersion(reply, table.version).type('application/json; charset=utf-8');
    return request.method === 'HEAD' ? reply.send() : reply.send(JSON.stringify({ data: present(tableId, table) }));
  };
  app.route({ method: ['GET', 'HEAD'], url: '/tables/:tableID', config: { operation: getOperation }, handler: answer });
}

function present(id: string, { name, version, createdAt, rows, schema, key, appIds }: TableDetails): object {
  const columns = schema.columns.map((column) => {
    const { id: columnId, displayName } = column;
    return {
      id: columnId,
      ...(displayName === undefined ? {} : { displayName }),
      type: spellType(currentType(column)),
    };
  });
  return {
    id,
    name,
    version: version.toString(),
    created: new Date(createdAt).toISOString(),
    rows,
    schema: { columns, ...(key === null ? {} : { key }) },
    appIDs: appIds,
  };
}

/** The form of a type that requests accept too (spec section 2). */
function spellType(type: ColumnType): unknown {
  return isArrayType(type) ? { kind: 'array', items: { kind: itemKind(type) } } : type;
}

const deleteOperation: Operation = {
  operationId: 'deleteTable',
  tag: 'Tables',
  summary: 'Delete a table',
  description: 'Deletes the table with all its rows. It is no error if the table does not exist.',
  ifMatch: 'table',
  answers: {
    200: { description: 'The table was deleted, or did not exist.', body: jsonContent(nothing, { deleted: {} }) },
  },
  errors: ['payment_required'],
};

function addDeleteTable(app: App, { submitter, bodyBytesMax }: TableDependencies): void {
  // The answer has no ETag, because nothing remains that could have a version.
  app.delete('/tables/:tableID', { config: { operation: deleteOperation } }, async (request, reply) => {
    const { teamId } = request.principal;
    const ifMatch = readIfMatch(request) ?? null;
    const identity = await identifyWithBody(request, bodyBytesMax);
    await submitter.submit(teamId, identity, deleteTable({ teamId, tableId: tableIdOf(request), ifMatch }));
    return reply.type('application/json; charset=utf-8').send('{}');
  });
}

export function addSingleTableRoutes(app: App, dependencies: TableDependencies): void {
  addOverwriteTable(app, dependencies);
  addGetTable(app, dependencies);
  addPatchTable(app, dependencies);
  addDeleteTable(app, dependencies);
}
