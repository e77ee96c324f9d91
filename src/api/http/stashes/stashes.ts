/** Stashes: rows that arrive in chunks (spec 4.10 and 4.11). */
import { deleteStash, stashPath } from '../../../../commands/end-stash.ts';
import { chunkPath, chunkQuery, putChunk } from '../../../../commands/put-chunk.ts';
import { refusalOfChunk } from '../../../../projections/stashes/stash-bounds.ts';
import type { StashQueries } from '../../../../projections/stashes/stashes.queries.ts';
import type { StashLimits } from '../../../language/events/limits.ts';
import { stashNameOf } from '../../../language/events/stash-name.ts';
import type { EventLog } from '../../../log/event-log.ts';
import { setDroppedCells, setRemarks } from '../answers/write-headers.ts';
import type { Refuses } from '../bodies/body-blocks.ts';
import { receiveRows, type RowReceiver } from '../bodies/receive-rows.ts';
import { jsonContent, linksTo, type Link, type Operation } from '../openapi/operation.ts';
import { examples, inputRows, inputTexts, nothing } from '../openapi/schemas.ts';
import { delimitedQuery, delimitedFormOf } from '../requests/delimited-query.ts';
import type { App } from '../server/app-type.ts';
import { identify, identifyWithBody } from '../submit/request-identity.ts';
import type { Submitter } from '../submit/submitter.ts';
import { refusing } from '../submit/turned-away.ts';

interface StashesRouteDependencies {
  readonly submitter: Submitter;
  readonly receiver: RowReceiver;
  readonly stashes: StashQueries;
  readonly log: Pick<EventLog, 'now'>;
  readonly stashLimits: StashLimits;
  readonly bodyBytesMax: number;
}

/** Links for a chunk. Its stash is imported as a whole. */
const stashLinks: readonly Link[] = [
  ...linksTo(['putChunk', 'deleteStash'], { stashID: '$request.path.stashID' }),
  {
    operationId: 'createTable',
    requestBody: { name: 'the rows of a stash', rows: { $stashID: '{$request.path.stashID}' } },
  },
];

const putOperation: Operation = {
  operationId: 'putChunk',
  tag: 'Stashes',
  summary: 'Send a chunk of rows to a stash',
  description:
    'The first chunk creates the stash. For 48 hours from then on, unless the service is set otherwise, it can be imported in one step: as the rows of a new table, as rows ' +
    'added to a table, or in place of all rows of a table. Chunks may arrive in parallel and in any order. The rows are ordered by the serials of their chunks: as ' +
    'numbers if all serials of the stash are integers, otherwise by code point. A chunk replaces an earlier one with the same serial, so ' +
    'that it can be sent again. 500 to 1,000 rows in a chunk work well. The import of the stash checks the values against the schema, and also the ' +
    '`$rowID`s with which rows keep their identity in an overwrite. A team has at most 10,000 stashes, unless its plan or the service is ' +
    'set otherwise.',
  body: { ...jsonContent(inputRows, { rows: examples.inputRows }), ...inputTexts },
  answers: {
    200: {
      description: 'The chunk is in the stash.',
      headersAtTimes: ['Tablog-Dropped-Cells', 'Tablog-Short-Lines', 'Tablog-Notes'],
      body: jsonContent(nothing, { stored: {} }),
      links: stashLinks,
    },
  },
  // `column_id_*`: for the header of CSV or TSV.
  errors: ['payment_required', 'column_id_not_unique', 'column_id_reserved'],
};

function addPutChunk(app: App, { submitter, receiver, stashes, log, stashLimits }: StashesRouteDependencies): void {
  app.put(
    '/stashes/:stashID/:serial',
    {
      schema: { params: chunkPath, querystring: chunkQuery.extend(delimitedQuery) },
      config: { operation: putOperation, storesBytes: true },
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
        delimited: delimitedFormOf(request.query),
      });
      const stored = await received.store(() => null);
      const event =
        'refusal' in stored
          ? refusing(teamId, stored.refusal)
          : putChunk({ teamId, appId, path: request.params, rows: stored.source, limits: stashLimits });
      await submitter.submit(teamId, identity, event, 'refusal' in stored ? undefined : stored.body, received.rowCount);
      setDroppedCells(reply, dropsCells ? received.droppedCells : undefined);
      return setRemarks(reply, received.remarks).type('application/json; charset=utf-8').send('{}');
    },
  );
}

const deleteOperation: Operation = {
  operationId: 'deleteStash',
  tag: 'Stashes',
  summary: 'Delete a stash',
  description:
    'Deletes the stash with all its chunks. Tables that it was imported into keep their rows. It is no error if the stash does not exist.',
  answers: {
    200: { description: 'The stash was deleted, or did not exist.', body: jsonContent(nothing, { deleted: {} }) },
  },
};

function addDeleteStash(app: App, { submitter, bodyBytesMax }: StashesRouteDependencies): void {
  app.delete(
    '/stashes/:stashID',
    { schema: { params: stashPath }, config: { operation: deleteOperation } },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const identity = await identifyWithBody(request, bodyBytesMax);
      await submitter.submit(teamId, identity, deleteStash(teamId, appId, request.params));
      return reply.type('application/json; charset=utf-8').send('{}');
    },
  );
}

export function addStashRoutes(app: App, dependencies: StashesRouteDependencies): void {
  addPutChunk(app, dependencies);
  addDeleteStash(app, dependencies);
}
