/** Spec 4.1, 4.2 and 4.12: list, create and overwrite tables. */
import { randomUUIDv7 } from 'node:crypto';
import { createTable, createTableQuery } from '../../../../commands/create-table.ts';
import { overwriteTable, overwriteTableQuery } from '../../../../commands/overwrite-table.ts';
import { scansAtOnce } from '../../../storage/database/database.ts';
import { tablesBytesAtMost, type TableQueries } from '../../../../projections/tables/tables.queries.ts';
import type { RowLimits, TableLimits } from '../../../language/events/limits.ts';
import { appsToLinkOf } from '../access/access.ts';
import type { App } from '../server/app-type.ts';
import { tableOperations } from './tables-operations.ts';
import { readPage } from '../answers/read-page.ts';
import type { Shares } from '../limits/shares.ts';
import { formatTablesContinuation, parseTablesContinuation } from '../requests/continuation.ts';
import { delimitedQuery, formOf } from '../requests/delimited-query.ts';
import { pageQuery } from '../requests/page-query.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch } from '../requests/versions.ts';
import { writeRows, type RowWriteDependencies } from '../bodies/write-rows.ts';

const json = 'application/json; charset=utf-8';

/**
 * What a list of tables takes of the share of pages: it may be long, and Postgres builds it. A team that lists without
 * end has one at a time.
 */
const listUnits = scansAtOnce / 2;

export interface TablesRouteDependencies extends RowWriteDependencies {
  readonly tables: TableQueries;
  readonly shares: Pick<Shares, 'pages' | 'outgoingBytes'>;
  readonly limits: RowLimits;
  readonly tableLimits: TableLimits;
}

export function addTableRoutes(app: App, dependencies: TablesRouteDependencies): void {
  const { tables, shares, limits, tableLimits } = dependencies;
  app.get(
    '/tables',
    {
      schema: { querystring: pageQuery('tables') },
      config: { operation: tableOperations.list },
    },
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
      return reply.type(json).send(body);
    },
  );

  app.post(
    '/tables',
    {
      schema: { querystring: createTableQuery.extend(delimitedQuery) },
      config: { operation: tableOperations.create },
    },
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
        delimited: formOf(request.query),
        command: (members, rows) => {
          const event = createTable({ ...target, members, rows });
          return { ...event, appsToLink: appsToLinkOf(request.principal, event.appsToLink) };
        },
        status: 201,
      });
    },
  );

  app.put(
    '/tables/:tableID',
    {
      schema: { querystring: overwriteTableQuery.extend(delimitedQuery) },
      config: { operation: tableOperations.overwrite },
    },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const tableId = tableIdOf(request);
      const ifMatch = readIfMatch(request) ?? null;
      const target = { teamId, appId, tableId, ifMatch, query: request.query, limits };
      const { schema, refusal } = await tables.target(teamId, tableId, ifMatch);
      return writeRows(request, reply, dependencies, {
        schema,
        lookUp: async () => () => refusal,
        retainIds: true,
        infersTypes: request.query.onSchemaError === 'updateSchema',
        dropsCells: request.query.onSchemaError === 'dropColumns',
        delimited: formOf(request.query),
        command: (members, rows) => overwriteTable({ ...target, members, rows }),
        status: 200,
      });
    },
  );
}
