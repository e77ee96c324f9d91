/** Spec 4.1 and 4.2: list and create tables. */
import { randomUUIDv7 } from 'node:crypto';
import { createTable, createTableQuery } from '../../../commands/create-table.ts';
import { overwriteTable, overwriteTableQuery } from '../../../commands/overwrite-table.ts';
import type { App } from '../app.ts';
import { tableOperations } from '../documents/tables.ts';
import { receiveRows } from '../receive-rows.ts';
import { rowIdsJson } from '../row-ids-json.ts';
import type { RouteDependencies } from '../routes.ts';
import { identify } from '../submitter.ts';
import { tableIdOf } from '../table-path.ts';
import { readIfMatch, setVersion } from '../versions.ts';

export function addTableRoutes(app: App, dependencies: RouteDependencies): void {
  const { submitter, tables, rows, receiver, gate, limits } = dependencies;
  app.get('/tables', { config: { operation: tableOperations.list } }, async (request) => {
    return { data: await tables.list(request.principal.teamId) };
  });

  app.post('/tables', {
    schema: { querystring: createTableQuery }, config: { operation: tableOperations.create },
  }, (request, reply) => gate.run(async () => {
    const { teamId } = request.principal;
    const identity = identify(request);
    const received = await receiveRows(receiver, request, identity);
    const input = { teamId, tableId: randomUUIDv7(), query: request.query, members: received.members, limits };
    // What is malformed is refused before anything is stored.
    const asked = createTable({ ...input, rows: received.hasRows ? { kind: 'none' } : null });
    const { source, body } = asked.rows.kind === 'stash' ? { source: asked.rows } : await received.store();
    const { result, etag } = await submitter.submit(teamId, identity, { ...asked, rows: source }, body);
    const linkedAppIds = result.linkedAppIds ? `,"linkedAppIDs":${JSON.stringify(result.linkedAppIds)}` : '';
    return setVersion(reply, etag)
      .code(201)
      .type('application/json; charset=utf-8')
      .send(`{"data":{"tableID":"${result.tableId}","rowIDs":${await rowIdsJson(rows, teamId, result.rows)}${linkedAppIds}}}`);
  }));

  app.put('/tables/:tableID', {
    schema: { querystring: overwriteTableQuery }, config: { operation: tableOperations.overwrite },
  }, (request, reply) => gate.run(async () => {
    const { teamId } = request.principal;
    const identity = identify(request);
    const ifMatch = readIfMatch(request) ?? null;
    const tableId = tableIdOf(request);
    const columns = await tables.columnIds(teamId, tableId);
    const received = await receiveRows(receiver, request, identity, { columns, keepIds: true });
    const input = { teamId, tableId, ifMatch, query: request.query, members: received.members, limits };
    // What is malformed is refused before anything is stored.
    const asked = overwriteTable({ ...input, rows: received.hasRows ? { kind: 'none' } : null });
    const { source, body } = asked.rows.kind === 'stash' ? { source: asked.rows } : await received.store();
    const { result, etag } = await submitter.submit(teamId, identity, { ...asked, rows: source }, body);
    return setVersion(reply, etag)
      .type('application/json; charset=utf-8')
      .send(`{"data":{"rowIDs":${await rowIdsJson(rows, teamId, result.rows)}}}`);
  }));
}
