/** `/tables`: lists and creates tables (spec 4.1 and 4.2). */
import { randomUUIDv7 } from 'node:crypto';
import { z } from 'zod';
import { createTable, createTableBody, createTableQuery } from '../../../../commands/create-table.ts';
import { stashReference } from '../../../../commands/inputs.ts';
import { tablesBytesAtMost } from '../../../../projections/tables/tables.queries.ts';
import type { TableLimits } from '../../../language/events/limits.ts';
import { scansAtOnce } from '../../../storage/database/database.ts';
import { appsToLinkOf } from '../access/access.ts';
import { readPage } from '../answers/read-page.ts';
import { writeRows } from '../bodies/write-rows.ts';
import { accepted, exampleJobId, jobId } from '../jobs/accepted.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, linksTo, type Answer, type Link, type Operation } from '../openapi/operation.ts';
import { cellErrors, continuation, examples, inputRows, inputTexts, rowIds, tableId } from '../openapi/schemas.ts';
import { formatTablesContinuation, parseTablesContinuation } from '../requests/continuation.ts';
import { delimitedQuery, delimitedFormOf } from '../requests/delimited-query.ts';
import { pageQuery } from '../requests/page-query.ts';
import { rowLinks } from '../rows/row.ts';
import type { App } from '../server/app-type.ts';
import { addSingleTableRoutes, type TableDependencies } from './table.ts';

interface TablesRouteDependencies extends TableDependencies {
  readonly shares: Pick<Shares, 'bodies' | 'pages' | 'outgoingBytes'>;
  readonly tableLimits: TableLimits;
}

const tableSummary = z.strictObject({ id: tableId, name: z.string() }).meta({ id: 'TableSummary' });

const listOperation: Operation = {
  operationId: 'listTables',
  tag: 'Tables',
  summary: 'List tables',
  description:
    "A page of the team's tables, in the order in which they were created; at most 10,000. While tables remain, " +
    'the answer has a `continuation`; the last page has none. If tables are created or deleted between two pages, no other table ' +
    'is skipped or repeated. Names need not be unique.',
  answers: {
    200: {
      description: 'Tables, and the continuation.',
      body: jsonContent(z.strictObject({ data: z.array(tableSummary), continuation }), {
        'all tables': { data: [{ id: examples.tableId, name: 'people' }] },
        'a page': {
          data: [{ id: examples.tableId, name: 'people' }],
          continuation: 'AAAAAAAAAAEBoCJqxPh_koACAAAAAAAABx2nWk0aE',
        },
      }),
    },
  },
};

/**
 * How many units of the share of pages a list of tables takes. A list may be long, and Postgres builds it. A team that
 * lists all the time gets one list at a time.
 */
const listUnits = scansAtOnce / 2;

function addListTables(app: App, { tables, shares }: TablesRouteDependencies): void {
  app.get(
    '/tables',
    { schema: { querystring: pageQuery('tables') }, config: { operation: listOperation } },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const { limit, continuation } = request.query;
      const from = continuation === undefined ? null : parseTablesContinuation(teamId, continuation);
      const { page, outgoing } = await readPage(
        shares,
        reply,
        tablesBytesAtMost(limit),
        () => tables.list(teamId, appId, from, limit),
        listUnits,
      );
      const next = page.next === null ? '' : `,"continuation":"${formatTablesContinuation(teamId, page.next)}"`;
      const texts = [...page.tables.map((text, at) => (at === 0 ? text : `,${text}`)), `]${next}}`];
      const body = Buffer.concat(['{"data":[', ...texts].map((text) => Buffer.from(text)));
      outgoing.shrink(body.length);
      return reply.type('application/json; charset=utf-8').send(body);
    },
  );
}

const created = z.strictObject({
  tableID: tableId,
  rowIDs: rowIds,
  linkedAppIDs: z
    .array(z.string())
    .optional()
    .meta({ description: 'The apps that the table is linked to. Left out if the request names none.' }),
});

const tableLinks: readonly Link[] = linksTo(
  [
    'getTable',
    'getTableHead',
    'updateTable',
    'overwriteTable',
    'deleteTable',
    'getRowsVersion',
    'listRows',
    'addRows',
    'changeRows',
    'updateRows',
    'deleteRows',
    'queryRows',
    'exportTable',
  ],
  { tableID: '$response.body#/data/tableID' },
);

/** The answer 202. The table exists once the job has succeeded. */
const acceptedTable: Answer = {
  ...accepted,
  body: jsonContent(z.strictObject({ data: z.strictObject({ tableID: tableId, jobID: jobId }) }), {
    accepted: { data: { tableID: examples.tableId, jobID: exampleJobId } },
  }),
  links: [...accepted.links, ...tableLinks],
};

const createOperation: Operation = {
  operationId: 'createTable',
  tag: 'Tables',
  summary: 'Create a table',
  description:
    'Creates a table with its first rows. If the body has no schema, as NDJSON, CSV and TSV never do, the schema is inferred from the rows. The name is either in the body ' +
    'or in the query, but not in both. A team has at most 10,000 tables, unless its plan or the service is set otherwise.',
  asynchronous: true,
  body: {
    ...jsonContent(
      z.union([
        createTableBody.extend({ rows: z.union([inputRows, stashReference]) }).meta({ id: 'NewTable' }),
        inputRows,
      ]),
      {
        'with a schema': {
          name: 'people',
          schema: { columns: examples.columns },
          rows: [{ name: 'Ada', born: '1815-12-10' }],
        },
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
      body: jsonContent(z.strictObject({ data: created }), {
        'created': { data: { tableID: examples.tableId, rowIDs: examples.rowIds } },
        'created and linked': { data: { tableID: examples.tableId, rowIDs: [], linkedAppIDs: ['app-1'] } },
      }),
      links: [...tableLinks, ...rowLinks('$response.body#/data/tableID')],
    },
    202: acceptedTable,
  },
  errors: ['stash_not_found', 'payment_required', ...cellErrors, 'column_id_not_unique'],
};

function addCreateTable(app: App, dependencies: TablesRouteDependencies): void {
  const { tables, tableLimits } = dependencies;
  app.post(
    '/tables',
    { schema: { querystring: createTableQuery.extend(delimitedQuery) }, config: { operation: createOperation } },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const target = { teamId, appId, tableId: randomUUIDv7(), query: request.query, limits: tableLimits };
      return writeRows(request, reply, dependencies, {
        lookUp: async () => {
          const refusal = await tables.refusalOfNew(teamId, tableLimits);
          return () => refusal;
        },
        schema: null,
        infersTypes: true,
        dropsCells: request.query.onSchemaError === 'dropColumns',
        delimited: delimitedFormOf(request.query),
        command: (members, rows) => {
          const event = createTable({ ...target, members, rows });
          return { ...event, appsToLink: appsToLinkOf(request.principal, event.appsToLink) };
        },
        status: 201,
      });
    },
  );
}

export function addTableRoutes(app: App, dependencies: TablesRouteDependencies): void {
  addListTables(app, dependencies);
  addCreateTable(app, dependencies);
  addSingleTableRoutes(app, dependencies);
}
