/** Spec 4.10 and 4.11: putting chunks into stashes, and deleting stashes. */
import { deleteStash, stashPath } from '../../../commands/end-stash.ts';
import { chunkPath, putChunk } from '../../../commands/put-chunk.ts';
import type { StashLimits } from '../../events/event.ts';
import type { App } from '../server/app-type.ts';
import { stashOperations } from '../openapi/operations/stashes.ts';
import type { Shares } from '../limits/shares.ts';
import { receiveRows, type RowReceiver } from '../bodies/receive-rows.ts';
import { identify, identifyWithBody, type Submitter } from '../submit/submitter.ts';

const json = 'application/json; charset=utf-8';

export interface StashesRouteDependencies {
  readonly submitter: Submitter;
  readonly receiver: RowReceiver;
  readonly shares: Pick<Shares, 'bodies'>;
  readonly stashLimits: StashLimits;
  readonly bodyBytesMax: number;
}

export function addStashRoutes(app: App, { submitter, receiver, shares, stashLimits, bodyBytesMax }: StashesRouteDependencies): void {
  app.put('/stashes/:stashID/:serial', {
    schema: { params: chunkPath }, config: { operation: stashOperations.put },
  }, (request, reply) => shares.bodies.run(request.principal.teamId, async () => {
    const { teamId } = request.principal;
    const identity = identify(request);
    const received = await receiveRows(receiver, request, identity, { form: 'rows', retainIds: true, asSegments: true });
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
