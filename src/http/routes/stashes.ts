/** Spec 4.10 and 4.11: chunks of stashes, and the end of stashes. */
import { deleteStash, stashPath } from '../../../commands/end-stash.ts';
import { chunkPath, putChunk } from '../../../commands/put-chunk.ts';
import type { App } from '../app.ts';
import { stashOperations } from '../documents/stashes.ts';
import { receiveRows } from '../receive-rows.ts';
import type { RouteDependencies } from '../routes.ts';
import { identify, identifyWithBody } from '../submitter.ts';

const json = 'application/json; charset=utf-8';

export function addStashRoutes(app: App, { submitter, receiver, gate, stashLimits, bodyBytesMax }: RouteDependencies): void {
  app.put('/stashes/:stashID/:serial', {
    schema: { params: chunkPath }, config: { operation: stashOperations.put },
  }, (request, reply) => gate.run(request.principal.teamId, async () => {
    const { teamId } = request.principal;
    const identity = identify(request);
    const received = await receiveRows(receiver, request, identity, { form: 'rows', keepIds: true, asSegments: true });
    const { source, body } = await received.store();
    const event = putChunk({ teamId, path: request.params, rows: source, limits: stashLimits });
    await submitter.submit(teamId, identity, event, body, received.rowCount);
    return reply.type(json).send('{}');
  }));

  app.delete('/stashes/:stashID', {
    schema: { params: stashPath }, config: { operation: stashOperations.remove },
  }, async (request, reply) => {
    const { teamId } = request.principal;
    const identity = await identifyWithBody(request, bodyBytesMax);
    await submitter.submit(teamId, identity, deleteStash(teamId, request.params));
    return reply.type(json).send('{}');
  });
}
