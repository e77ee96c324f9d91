/** `/tables/{tableID}/rows`: the rows of a table (spec 4.6 and 4.12). */
import { z } from 'zod';
import { addRows, addRowsBody, addRowsQuery } from '../../../../commands/add-rows.ts';
import { stashReference } from '../../../../commands/inputs.ts';
import { pageBytesAtMost, type PageQueries } from '../../../../projections/tables/pages.queries.ts';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { answerQuery, queryErrors, type QueryDependencies } from '../answers/answer-query.ts';
import { replyMissing } from '../answers/missing.ts';
import { readPage } from '../answers/read-page.ts';
import { rowsFormatOf, sendRowsPage } from '../answers/rows-page.ts';
import { writeRowsToTable, type TableRowWriteDependencies } from '../bodies/write-rows.ts';
import { accepted } from '../jobs/accepted.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import {
  cellErrors,
  cellsOf,
  continuation,
  examples,
  inputRows,
  inputTexts,
  outputRow,
  rowIds,
} from '../openapi/schemas.ts';
import { formatRowsContinuation, parseRowsContinuation } from '../requests/continuation.ts';
import { delimitedQuery } from '../requests/delimited-query.ts';
import { pageQuery } from '../requests/page-query.ts';
import { isOfQuery, queryOf, whichRows } from '../requests/rows-query.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';
import type { App } from '../server/app-type.ts';
import { addBatchRoute } from './batch.ts';
import { addByFilterRoutes } from './by-filter.ts';
import { addSingleRowRoutes, rowLinks, type RowDependencies } from './row.ts';

interface RowsRouteDependencies extends RowDependencies, TableRowWriteDependencies, QueryDependencies {
  readonly tables: TableQueries;
  readonly pages: PageQueries;
  readonly shares: Pick<Shares, 'bodies' | 'pages' | 'queries' | 'sql' | 'outgoingBytes'>;
}

const versionOperation: Operation = {
  operationId: 'getRowsVersion',
  tag: 'Rows',
  summary: "Get the version of a table's rows",
  description:
    "The version as `ETag`. It rises with each change of the table's data, so a client can poll it to detect changes.",
  answers: { 200: { description: 'The table has the version in `ETag`.', versioned: true } },
  errors: ['table_not_found'],
};

/** The parameters of a page, and of a query on the rows (docs/spec/queries.md). */
const rowsQuery = pageQuery('rows').extend({
  ...whichRows,
  count: z
    .literal('exact', 'must be "exact"')
    .optional()
    .meta({
      description: 'Whether to count the rows that meet the filter, in `Tablog-Count`.',
      jsonSchema: { type: 'string', enum: ['exact'] },
    }),
});

const listOperation: Operation = {
  operationId: 'listRows',
  tag: 'Rows',
  summary: 'List rows',
  description:
    "A page of the table's rows, in the order in which they were added. While rows remain, the answer has a " +
    '`continuation`; the last page has none. A page may have fewer rows than `limit`. With `Accept: text/csv` it is CSV.',
  answers: {
    200: {
      description: 'Rows, and the continuation.',
      versioned: true,
      headersAtTimes: ['Tablog-Count', 'Tablog-Cache', 'Tablog-Continuation', 'Link'],
      body: {
        ...jsonContent(z.strictObject({ data: z.array(outputRow), continuation }), {
          'a page': { data: [examples.row], continuation: 'AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABx2nWk0aE' },
          'the last page': { data: [examples.row] },
        }),
        ...cellsOf('A line with `$rowID` and the IDs of the columns in their order, and a line for each row.', {
          'a page': '$rowID,name,born\nAAAAAAAAAAEAAAAAAAAAAA,Ada,1815-12-10\n',
        }),
      },
    },
  },
  errors: ['continuation_expired', ...queryErrors],
};

function addListRows(app: App, dependencies: RowsRouteDependencies): void {
  const { tables, pages, shares, activity } = dependencies;
  const path = '/tables/:tableID/rows';

  app.head(path, { config: { operation: versionOperation } }, async (request, reply) => {
    const has = readIfNoneMatch(request);
    const version = await tables.version(request.principal.teamId, tableIdOf(request));
    if (version === null) return replyMissing(reply, 'table_not_found');
    return has(version) ? replyNotModified(reply, version) : setVersion(reply, version).send();
  });

  app.get(
    path,
    { schema: { querystring: rowsQuery }, config: { operation: listOperation } },
    async (request, reply) => {
      const { teamId } = request.principal;
      const tableId = tableIdOf(request);
      const { limit, continuation } = request.query;
      const query = queryOf(request.query);
      if (query !== null || isOfQuery(continuation)) {
        return answerQuery(dependencies, request, reply, {
          query: query ?? {},
          continuation: continuation ?? null,
          limit,
          prefix: 'query.',
        });
      }
      const has = readIfNoneMatch(request);
      const from = continuation === undefined ? null : parseRowsContinuation(tableId, continuation);
      const format = rowsFormatOf(reply);
      const { page, outgoing } = await readPage(shares, reply, pageBytesAtMost(limit, format), () =>
        pages.page(teamId, tableId, from, limit, format),
      );
      if (typeof page === 'string') return replyMissing(reply, page);
      if (has(page.etag)) return replyNotModified(reply, page.etag);
      const next = page.next === null ? null : formatRowsContinuation(tableId, page.next);
      const body = page.rows.page(next);
      outgoing.shrink(body.length);
      activity.rowsRead(teamId, page.rows.count);
      return sendRowsPage(reply, format, limit, { body, version: page.etag, continuation: next });
    },
  );
}

const addOperation: Operation = {
  operationId: 'addRows',
  tag: 'Rows',
  summary: 'Add rows',
  description:
    'Adds all rows, or none of them if there is an error. A `$rowID` in a row is ignored. With `mode=upsert`, a row ' +
    'whose key a row of the table has patches that row: null, or an empty cell of CSV or TSV, empties a cell, and ' +
    'columns that the row does not name stay. All other rows are added, also those in which a column of the key is ' +
    'empty. If two rows of the body have the same key, the later one patches the earlier one.',
  ifMatch: 'table',
  asynchronous: true,
  body: {
    ...jsonContent(z.union([inputRows, addRowsBody.extend({ rows: inputRows }), stashReference]), {
      'rows': examples.inputRows,
      'rows in an object': { rows: examples.inputRows },
      'the rows of a stash': { $stashID: 'import-7' },
    }),
    ...inputTexts,
  },
  answers: {
    200: {
      description:
        'The rows were upserted (`mode=upsert`). The IDs are those of the rows in the table, one for each row of the ' +
        'body, in order.',
      versioned: true,
      headers: ['Tablog-Rows'],
      headersAtTimes: ['Tablog-Dropped-Cells', 'Tablog-Short-Lines', 'Tablog-Notes'],
      body: jsonContent(z.strictObject({ data: z.strictObject({ rowIDs: rowIds }) }), {
        upserted: { data: { rowIDs: examples.rowIds } },
      }),
      links: rowLinks('$request.path.tableID'),
    },
    201: {
      description: 'The rows were added.',
      versioned: true,
      headersAtTimes: ['Tablog-Dropped-Cells', 'Tablog-Short-Lines', 'Tablog-Notes'],
      body: jsonContent(z.strictObject({ data: z.strictObject({ rowIDs: rowIds }) }), {
        added: { data: { rowIDs: examples.rowIds } },
      }),
      links: rowLinks('$request.path.tableID'),
    },
    202: accepted,
  },
  errors: ['stash_not_found', 'payment_required', 'table_not_found', ...cellErrors, 'column_id_not_unique'],
};

function addAddRows(app: App, dependencies: RowsRouteDependencies): void {
  app.post(
    '/tables/:tableID/rows',
    { schema: { querystring: addRowsQuery.extend(delimitedQuery) }, config: { operation: addOperation } },
    (request, reply) => {
      const areUpserted = request.query.mode === 'upsert';
      const status = areUpserted ? 200 : 201;
      return writeRowsToTable(request, reply, dependencies, {
        query: request.query,
        command: addRows,
        status,
        areUpserted,
      });
    },
  );
}

export function addRowRoutes(app: App, dependencies: RowsRouteDependencies): void {
  addListRows(app, dependencies);
  addAddRows(app, dependencies);
  addBatchRoute(app, dependencies);
  addByFilterRoutes(app, dependencies);
  addSingleRowRoutes(app, dependencies);
}
