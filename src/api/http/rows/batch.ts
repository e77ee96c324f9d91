/** `/tables/{tableID}/batch`: several operations on rows, all or none (docs/spec/batches.md). */
import { z } from 'zod';
import { batch, batchBody } from '../../../../commands/batch.ts';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { packBody } from '../../../language/events/event-codec.ts';
import type { RowLimits } from '../../../language/events/limits.ts';
import { namesRow, type RowOperation } from '../../../language/events/row-operations.ts';
import { readBatch } from '../../../language/formats/read-batch.ts';
import { noRemarks } from '../../../language/formats/row-reader.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { submitAndAnswer, readAsynchronous, type WriteDependencies } from '../submit/submit-and-answer.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { smallBodyBytesMax, type RowReceiver } from '../bodies/receive-rows.ts';
import { accepted } from '../jobs/accepted.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Shares } from '../limits/shares.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import { cellErrors, examples, inputRow, rowIds } from '../openapi/schemas.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch } from '../requests/versions.ts';
import type { App } from '../server/app-type.ts';
import { identify } from '../submit/request-identity.ts';
import { refusing } from '../submit/turned-away.ts';
import { rowLinks } from './row.ts';

export interface BatchDependencies extends WriteDependencies {
  readonly tables: Pick<TableQueries, 'target'>;
  readonly receiver: Pick<RowReceiver, 'turns'>;
  readonly shares: Pick<Shares, 'bodies'>;
  /** Null if there are no rate limits. */
  readonly rateLimits: RateLimits | null;
  readonly limits: RowLimits;
  readonly bodyBytesMax: number;
}

/** The largest body of a batch, in bytes. The whole body is in memory. */
const batchBytesMax = 4 * 1024 * 1024;

/**
 * The most bytes of the rows that a batch patches or deletes, because they are loaded together. Each counts as the
 * longest row of the table. A row that several operations name counts each time, because each patch reads and writes
 * the whole row.
 */
const namedBytesMax = 128 * 1024 * 1024;

const operation: Operation = {
  operationId: 'changeRows',
  tag: 'Rows',
  summary: 'Change rows in a batch',
  description:
    'Adds, upserts, patches and deletes rows in one step, with one version: either every operation takes effect, in ' +
    'order, or none does. An `upsert` patches the row with the same key, or adds one if there is none. An operation ' +
    'sees what the operations before it did. The message of an error begins with the place, ' +
    'like `operations[3].row.age`. An `ifMatch` guards one row, `If-Match` the whole table.',
  ifMatch: 'table',
  asynchronous: true,
  body: jsonContent(batchBody(inputRow), {
    'add, upsert, patch and delete': {
      operations: [
        { op: 'add', row: examples.inputRows[0] },
        { op: 'upsert', row: { name: 'Alan', born: '1912-06-23' } },
        { op: 'patch', rowID: examples.rowIds[0], row: { name: 'Ada Lovelace', born: null }, ifMatch: '41' },
        { op: 'delete', rowID: examples.rowIds[1] },
      ],
    },
  }),
  answers: {
    200: {
      description: 'All operations took effect. `rowIDs` has the ID of a row for each operation, in order.',
      versioned: true,
      headers: ['Tablog-Rows'],
      headersAtTimes: ['Tablog-Dropped-Cells'],
      body: jsonContent(z.strictObject({ data: z.strictObject({ rowIDs: rowIds }) }), {
        changed: { data: { rowIDs: examples.rowIds } },
      }),
      links: rowLinks('$request.path.tableID'),
    },
    202: accepted,
  },
  errors: ['payment_required', 'table_not_found', 'row_not_found', ...cellErrors],
};

export function addBatchRoute(app: App, dependencies: BatchDependencies): void {
  const { tables, receiver, shares, rateLimits, limits, bodyBytesMax } = dependencies;
  app.post('/tables/:tableID/batch', { config: { operation } }, async (request, reply) => {
    const { teamId } = request.principal;
    readMediaType(request, ['application/json']);
    const identity = identify(request);
    const asynchronous = readAsynchronous(request);
    const ifMatch = readIfMatch(request) ?? null;
    const bytes = await collectInPlace(shares.bodies, request, Math.min(bodyBytesMax, batchBytesMax));
    identity.digest?.update(bytes);
    if (bytes.length > smallBodyBytesMax) await receiver.turns.take();
    const body = readBatch(bytes);
    const tableId = tableIdOf(request);
    const event = batch({ teamId, tableId, ifMatch, body, limits });
    const rows = event.operations.length;
    rateLimits?.take('rows', teamId, rows);
    const { refusal, rowBytesMax } = await tables.target(teamId, tableId, ifMatch);
    const patchBytesMax = body.block?.profile.rowBytesMax ?? 0;
    // An upsert may patch a row that the batch itself adds.
    const upserts = event.operations.some(({ op }) => op === 'upsert');
    const longest = { rowBytesMax: upserts ? Math.max(rowBytesMax, patchBytesMax) : rowBytesMax, patchBytesMax };
    const refused = refusal ?? refusalOfNamed(timesNamed(event.operations), longest, limits.rowBytesMax);
    const submitted =
      refused === null
        ? { event, body: body.block === null ? undefined : await packBody(body.block.body) }
        : { event: refusing(teamId, refused) };
    const write = { teamId, identity, asynchronous, newTable: null, remarks: noRemarks, rows, ...submitted };
    return submitAndAnswer(reply, dependencies, write, 200);
  });
}

/** How often the operations name each row that they patch or delete. Each upsert may patch a row of its own. */
function timesNamed(operations: readonly RowOperation[]): number[] {
  const times = new Map<string, number>();
  for (const [place, operation] of operations.entries()) {
    if (operation.op === 'upsert') times.set(`upsert ${place}`, 1);
    if (!namesRow(operation)) continue;
    const { version, ordinal, index } = operation.row;
    const key = `${version} ${ordinal} ${index}`;
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  return [...times.values()];
}

/**
 * The refusal of a batch that might load or write too many bytes; null if it cannot. `times`: how often the batch names
 * each row. `rowBytesMax`: the bytes of the longest row of the table. `patchBytesMax`: those of the longest patch.
 * `rowLimit`: the most bytes that a row may have.
 */
export function refusalOfNamed(
  times: readonly number[],
  { rowBytesMax, patchBytesMax }: { readonly rowBytesMax: number; readonly patchBytesMax: number },
  rowLimit: number,
): Refusal | null {
  const bytes = times.reduce(
    (sum, count) => sum + count * Math.max(rowBytesMax, Math.min(rowLimit, rowBytesMax + (count - 1) * patchBytesMax)),
    0,
  );
  if (bytes <= namedBytesMax) return null;
  const named = times.reduce((sum, count) => sum + count, 0);
  const namedMax = Math.floor(namedBytesMax / Math.max(1, rowBytesMax));
  const message =
    named > namedMax
      ? `the request patches or deletes ${named} rows; because rows of this table have up to ${rowBytesMax} bytes, the most is ${namedMax}`
      : 'the operations patch the same rows too often: send these patches in several batches';
  return { type: 'limit_exceeded', message };
}
