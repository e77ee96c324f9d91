/** `PATCH /tables/{tableID}`: renames a table, and changes its columns (docs/decisions/0077). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { patchTable, patchTableBody, patchTableQuery } from '../../../../commands/patch-table.ts';
import { refusalOfMisfits } from '../../../../projections/tables/decide-patch-table.ts';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { commandIdOf } from '../../../language/events/command-id.ts';
import type { EventOf } from '../../../language/events/event.ts';
import { readMembers } from '../../../language/formats/read-members.ts';
import type { ColumnMisfits } from '../../../language/values/column-misfits.ts';
import { HttpError, noEffect } from '../answers/http-error.ts';
import { misfitsJson } from '../answers/result-json.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { ClientGone } from '../bodies/request-body.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import { examples, nothing } from '../openapi/schemas.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch, setVersion } from '../requests/versions.ts';
import type { App } from '../server/app-type.ts';
import { identify, type RequestIdentity } from '../submit/request-identity.ts';
import type { Submitter } from '../submit/submitter.ts';
import { refusing, type Submission } from '../submit/turned-away.ts';
import type { ColumnTrial, ColumnTrials } from './column-trials.ts';
import type { KeyPreparation, KeyPreparations } from './key-preparations.ts';

export interface PatchTableDependencies {
  readonly submitter: Submitter;
  readonly tables: Pick<TableQueries, 'target'>;
  readonly trials: ColumnTrials;
  readonly preparations: KeyPreparations;
  readonly shares: Pick<Shares, 'bodies'>;
  readonly bodyBytesMax: number;
}

/** Maximum of trials for one request. Each change of the table by others makes another trial necessary. */
const trialsMax = 50;

const query = patchTableQuery.extend({
  dryRun: z
    .enum(['true', 'false'])
    .default('false')
    .describe('`true` changes nothing. The answer says how many cells do not fit the new types of their columns.'),
});

const misfit = z
  .strictObject({
    id: z.string().meta({ description: 'The ID of the column.' }),
    cells: z.int().min(1).meta({ description: 'How many cells of the column do not fit.' }),
    rowID: z.string().meta({ description: 'The ID of the first row with such a cell.' }),
    value: z.string().meta({ description: 'The value of that cell as JSON text, cut to 60 characters.' }),
  })
  .meta({ id: 'ColumnMisfits', description: 'The cells of a column that do not fit its new type.' });

const operation: Operation = {
  operationId: 'updateTable',
  tag: 'Tables',
  summary: 'Change a table',
  description:
    'Changes the name of the table and its columns: their display names, types and order. It also adds and removes columns. ' +
    'Declares a key, or removes it (null): no two rows may have equal values in all columns of a key. ' +
    'Everything that the body does not name keeps its value. All changes take effect in one step, however many rows the table has: ' +
    'first columns are removed, then changed, then added, and at last reordered. The values of a removed column are gone, even ' +
    'if a column with its ID is added again. If a value does not fit the new type of its column, the request is refused. With ' +
    '`onMisfit=clear` the cell becomes empty instead.',
  ifMatch: 'table',
  body: jsonContent(patchTableBody, {
    'another name': { name: 'persons' },
    'another display name of a column': { columns: [{ id: 'born', displayName: 'Birthday' }] },
    'another type': { columns: [{ id: 'born', type: 'dateTime' }] },
    'a new column before all others': { add: [{ id: 'email', type: 'emailAddress' }], order: ['email'] },
    'a column removed': { remove: ['born'] },
    'a key': { key: ['name'] },
    'no key': { key: null },
  }),
  answers: {
    200: {
      description:
        'The table was updated. `ETag` has its version. With `onMisfit=clear` or `dryRun=true` the answer says which cells did ' +
        'not fit; otherwise it is empty.',
      versioned: true,
      body: jsonContent(z.union([z.strictObject({ data: z.strictObject({ misfits: z.array(misfit) }) }), nothing]), {
        'updated': {},
        'cells were cleared': {
          data: { misfits: [{ id: 'born', cells: 2, rowID: examples.rowIds[0], value: '"unknown"' }] },
        },
      }),
    },
  },
  errors: [
    'limit_exceeded',
    'payment_required',
    'table_not_found',
    'key_not_unique',
    'column_id_not_found',
    'column_has_invalid_value',
    'column_id_reserved',
    'column_id_not_unique',
  ],
};

export function addPatchTable(app: App, dependencies: PatchTableDependencies): void {
  const { shares, bodyBytesMax } = dependencies;
  app.patch(
    '/tables/:tableID',
    { schema: { querystring: query }, config: { operation } },
    async (request: FastifyRequest, reply) => {
      const { teamId } = request.principal;
      const { dryRun, ...asked } = request.query as z.output<typeof query>;
      readMediaType(request, ['application/json']);
      const identity = identify(request);
      const ifMatch = readIfMatch(request) ?? null;
      const bytes = await collectInPlace(shares.bodies, request, bodyBytesMax);
      identity.digest?.update(bytes);
      const members = readMembers(bytes);
      const event = patchTable({ teamId, tableId: tableIdOf(request), ifMatch, query: asked, members });
      const gone = goneSignalOf(reply);
      const patched =
        dryRun === 'true'
          ? await tryOnly(dependencies, event, gone)
          : await submit(dependencies, identity, event, gone);
      const tells = dryRun === 'true' || asked.onMisfit === 'clear';
      setVersion(reply, patched.etag).type('application/json; charset=utf-8');
      return reply.send(tells ? `{"data":${misfitsJson(patched.misfits)}}` : '{}');
    },
  );
}

interface Patched {
  readonly etag: bigint;
  readonly misfits: readonly ColumnMisfits[];
}

/** The effect that the request would have now. Throws the HttpError with which it would be refused. */
async function tryOnly(
  { tables, trials }: PatchTableDependencies,
  event: EventOf<'TablePatchRequested'>,
  gone: AbortSignal,
): Promise<Patched> {
  if (event.key !== undefined)
    throw new HttpError('request_validation_error', 'dryRun: a key cannot be tried. Send the key without it.');
  const { refusal } = await tables.target(event.teamId, event.tableId, event.ifMatch);
  if (refusal !== null) throw new HttpError(refusal.type, refusal.message);
  const trial = await untilGone(trials.begin(event).try(gone), gone);
  if (trial === null) throw new HttpError('table_not_found', 'there is no such table');
  if ('refusal' in trial) throw new HttpError(trial.refusal.type, trial.refusal.message);
  return { etag: trial.version, misfits: trial.misfits };
}

/**
 * Submits the request. If the table has too many rows for a decision, reads the rows first, and then what others have
 * changed meanwhile.
 */
async function submit(
  { submitter, trials, preparations }: PatchTableDependencies,
  identity: RequestIdentity,
  event: EventOf<'TablePatchRequested'>,
  gone: AbortSignal,
): Promise<Patched> {
  const preparation = event.key ? preparations.begin(event) : null;
  const columns = trials.begin(event);
  let asked: Submission = event;
  let isKnown = true;
  try {
    for (let trial = 0; trial <= trialsMax; trial += 1) {
      isKnown = false;
      const { result, etag } = await submitter.submit(event.teamId, identityOfTry(identity, trial), asked);
      isKnown = true;
      if (result.untried !== true) return { etag, misfits: result.misfits ?? [] };
      if (trial === trialsMax) break;
      // If the request is a repetition, the next trial may have an outcome: then no row is read for it.
      if ((await submitter.findEarlier(event.teamId, identityOfTry(identity, trial + 1))) !== null) asked = event;
      else if (preparation === null) asked = await triedEvent(columns, event, gone);
      else asked = await preparedEvent(preparation, event, gone);
    }
  } catch (error) {
    isKnown ||= error instanceof HttpError && error.type !== 'outcome_unknown';
    throw error;
  } finally {
    // An event whose outcome is unknown may still take the index.
    if (isKnown) await preparation?.end();
  }
  throw new HttpError(
    'service_unavailable',
    `Others changed the table during each of ${trialsMax} readings of its rows. ${noEffect}`,
  );
}

/**
 * The identity of one trial's command. A command is decided once, so each trial of a request needs its own. With an
 * Idempotency-Key a repeated request gets the same identities.
 */
function identityOfTry({ commandId, digest, ...identity }: RequestIdentity, trial: number): RequestIdentity {
  return {
    ...identity,
    commandId: trial === 0 ? commandId : commandIdOf(commandId, String(trial)),
    digest: digest?.copy() ?? null,
  };
}

/** The event with the result of a trial of the rows, or its refusal. */
async function triedEvent(
  columns: ColumnTrial,
  event: EventOf<'TablePatchRequested'>,
  gone: AbortSignal,
): Promise<Submission> {
  const trial = await untilGone(columns.try(gone), gone);
  if (trial === null || 'refusal' in trial) return event;
  const { version, misfits, unsafe } = trial;
  const changes = event.columnChanges!;
  if (misfits.length > 0 && changes.onMisfit === 'abort' && event.ifMatch === null)
    return refusing(event.teamId, refusalOfMisfits(unsafe, misfits));
  return { ...event, columnChanges: { ...changes, tried: { version, misfits } } };
}

/** The event with the index that has the keys of the rows, or its refusal. */
async function preparedEvent(
  preparation: KeyPreparation,
  event: EventOf<'TablePatchRequested'>,
  gone: AbortSignal,
): Promise<Submission> {
  const read = await untilGone(preparation.read(gone), gone);
  if (read === null) return event;
  if ('prepared' in read) return { ...event, preparedKey: read.prepared };
  // The decision refuses a table that has changed since the version in If-Match.
  const isChanged = event.ifMatch !== null && read.version > event.ifMatch;
  return isChanged ? event : refusing(event.teamId, read.refusal);
}

function goneSignalOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}

async function untilGone<T>(work: Promise<T>, gone: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw gone.aborted ? new ClientGone('the rows of the table were read') : error;
  }
}
