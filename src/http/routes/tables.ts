/** Spec 4.1 and 4.2: list and create tables. */
import { randomUUIDv7 } from 'node:crypto';
import { createTable, createTableQuery } from '../../../commands/create-table.ts';
import { answerWrite, readAsynchronous } from '../answer-write.ts';
import type { App } from '../app.ts';
import { receiveRows } from '../receive-rows.ts';
import type { RouteDependencies } from '../routes.ts';
import { identify } from '../submitter.ts';

export function addTableRoutes(app: App, { submitter, tables, receiver, gate, limits }: RouteDependencies): void {
  app.get('/tables', async (request) => ({ data: await tables.list(request.principal.teamId) }));

  app.post('/tables', { schema: { querystring: createTableQuery } }, (request, reply) => gate.run(async () => {
    const { teamId } = request.principal;
    const identity = identify(request);
    const asynchronous = readAsynchronous(request);
    const received = await receiveRows(receiver, request, identity);
    const input = { teamId, tableId: randomUUIDv7(), query: request.query, members: received.members, limits };
    // What is malformed is refused before anything is stored.
    const asked = createTable({ ...input, rows: received.hasRows ? { kind: 'none' } : null });
    const { source, body } = asked.rows.kind === 'stash' ? { source: asked.rows } : await received.store();
    const event = { ...asked, rows: source };
    const rows = source.kind === 'stash' ? null : received.rowCount;
    return answerWrite(reply, submitter, { teamId, identity, asynchronous, event, body, rows }, 201);
  }));
}
