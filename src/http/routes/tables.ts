/** Spec 4.1, 4.2 and 4.12: list, create and overwrite tables. */
import { randomUUIDv7 } from 'node:crypto';
import { createTable, createTableQuery } from '../../../commands/create-table.ts';
import { overwriteTable, overwriteTableQuery } from '../../../commands/overwrite-table.ts';
import { answerWrite, readAsynchronous } from '../answer-write.ts';
import type { App } from '../app.ts';
import { tableOperations } from '../documents/tables.ts';
import { receiveRows, rowsIn } from '../receive-rows.ts';
import type { RouteDependencies } from '../routes.ts';
import { identify } from '../submitter.ts';
import { tableIdOf } from '../table-path.ts';
import { readIfMatch } from '../versions.ts';

export function addTableRoutes(app: App, dependencies: RouteDependencies): void {
  const { tables, receiver, gate, limits } = dependencies;
  app.get('/tables', { config: { operation: tableOperations.list } }, async (request) => {
    return { data: await tables.list(request.principal.teamId) };
  });

  app.post('/tables', {
    schema: { querystring: createTableQuery }, config: { operation: tableOperations.create },
  }, (request, reply) => gate.run(async () => {
    const { teamId } = request.principal;
    const identity = identify(request);
    const asynchronous = readAsynchronous(request);
    const received = await receiveRows(receiver, request, identity);
    const input = { teamId, tableId: randomUUIDv7(), query: request.query, members: received.members, limits };
    // What is malformed is refused before anything is stored.
    const asked = createTable({ ...input, rows: received.hasRows ? { kind: 'none' } : null });
    const { source, body } = asked.rows.kind === 'stash' ? { source: asked.rows } : await received.store();
    const event = { ...asked, rows: source };
    return answerWrite(reply, dependencies, { teamId, identity, asynchronous, event, body, rows: rowsIn(received, source) }, 201);
  }));

  app.put('/tables/:tableID', {
    schema: { querystring: overwriteTableQuery }, config: { operation: tableOperations.overwrite },
  }, (request, reply) => gate.run(async () => {
    const { teamId } = request.principal;
    const identity = identify(request);
    const asynchronous = readAsynchronous(request);
    const ifMatch = readIfMatch(request) ?? null;
    const tableId = tableIdOf(request);
    const columns = await tables.columnIds(teamId, tableId);
    const received = await receiveRows(receiver, request, identity, { columns, keepIds: true });
    const input = { teamId, tableId, ifMatch, query: request.query, members: received.members, limits };
    // What is malformed is refused before anything is stored.
    const asked = overwriteTable({ ...input, rows: received.hasRows ? { kind: 'none' } : null });
    const { source, body } = asked.rows.kind === 'stash' ? { source: asked.rows } : await received.store();
    const event = { ...asked, rows: source };
    return answerWrite(reply, dependencies, { teamId, identity, asynchronous, event, body, rows: rowsIn(received, source) }, 200);
  }));
}
