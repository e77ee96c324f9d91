/** Spec 4.10 and 4.11: putting chunks into stashes, and deleting stashes. */
import { deleteStash, stashPath } from '../../../../commands/end-stash.ts';
import { chunkPath, chunkQuery, putChunk } from '../../../../commands/put-chunk.ts';
import { refusalOfChunk } from '../../../../projections/stashes/stash-bounds.ts';
import type { StashQueries } from '../../../../projections/stashes/stashes.queries.ts';
import type { StashLimits } from '../../../language/events/limits.ts';
import { stashNameOf } from '../../../language/events/stash-name.ts';
import type { EventLog } from '../../../log/event-log.ts';
import type { App } from '../server/app-type.ts';
import { setDroppedCells, setRemarks } from '../answers/answer-write.ts';
import { stashOperations } from './stashes-operations.ts';
import type { Refuses } from '../bodies/body-blocks.ts';
import { delimitedQuery, formOf } from '../requests/delimited-query.ts';
import { receiveRows, type RowReceiver } from '../bodies/receive-rows.ts';
import { identify, identifyWithBody } from '../submit/request-identity.ts';
import type { Submitter } from '../submit/submitter.ts';
import { refusing } from '../submit/turned-away.ts';

const json = 'application/json; charset=utf-8';

export interface StashesRouteDependencies {
  readonly submitter: Submitter;
  readonly receiver: RowReceiver;
  readonly stashes: StashQueries;
  readonly log: Pick<EventLog, 'now'>;
  readonly stashLimits: StashLimits;
  readonly bodyBytesMax: number;
}

export function addStashRoutes(
  app: App,
  { submitter, receiver, stashes, log, stashLimits, bodyBytesMax }: StashesRouteDependencies,
): void {
  app.put(
    '/stashes/:stashID/:serial',
    {
      schema: { params: chunkPath, querystring: chunkQuery.extend(delimitedQuery) },
      config: { operation: stashOperations.put, storesBytes: true },
    },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const identity = identify(request);
      const { stashID, serial } = request.params;
      const lookUp = async (): Promise<Refuses> => {
        const target = await stashes.chunkTarget(teamId, stashNameOf(appId, stashID), serial);
        const at = { time: log.now() };
        return (arrived) => refusalOfChunk(target, arrived, stashLimits, at);
      };
      const dropsCells = request.query.onSchemaError === 'dropColumns';
      await using received = await receiveRows(receiver, request, identity, {
        lookUp,
        form: 'rows',
        retainIds: true,
        asSegments: true,
        infersTypes: true,
        dropsCells,
        delimited: formOf(request.query),
      });
      const stored = await received.store(() => null);
      const event =
        'refusal' in stored
          ? refusing(teamId, stored.refusal)
          : putChunk({ teamId, appId, path: request.params, rows: stored.source, limits: stashLimits });
      await submitter.submit(teamId, identity, event, 'refusal' in stored ? undefined : stored.body, received.rowCount);
      setDroppedCells(reply, dropsCells ? received.droppedCells : undefined);
      return setRemarks(reply, received.remarks).type(json).send('{}');
    },
  );

  app.delete(
    '/stashes/:stashID',
    {
      schema: { params: stashPath },
      config: { operation: stashOperations.remove },
    },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const identity = await identifyWithBody(request, bodyBytesMax);
      await submitter.submit(teamId, identity, deleteStash(teamId, appId, request.params));
      return reply.type(json).send('{}');
    },
  );
}
