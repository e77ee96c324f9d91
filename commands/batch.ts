/** Batch: several operations on the rows of a table, all or none (docs/spec/batches.md). */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { RowLimits } from '../src/language/events/limits.ts';
import { parseRowId, type RowAddress } from '../src/language/events/row-id.ts';
import type { RowOperation } from '../src/language/events/row-operations.ts';
import { operationsMax, type ReadBatch } from '../src/language/formats/read-batch.ts';
import { emptyProfile } from '../src/language/values/build-profile.ts';
import { onSchemaError, parse } from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

const versionMax = 2n ** 63n - 1n;

const rowID = z.string().meta({ description: 'The ID of the row.' });
const ifMatch = z
  .string()
  .regex(/^[0-9]{1,40}$/, 'must be a version, like "42"')
  .meta({ description: 'A version: the operation is refused if the row has changed since then.' });

/** The body of a batch. `row`: the schema of its rows. */
export function batchBody(row: z.ZodType) {
  const operation = z.discriminatedUnion(
    'op',
    [
      z.strictObject({ op: z.literal('add'), row }),
      z.strictObject({ op: z.literal('upsert'), row }),
      z.strictObject({ op: z.literal('patch'), rowID, row, ifMatch: ifMatch.optional() }),
      z.strictObject({ op: z.literal('delete'), rowID, ifMatch: ifMatch.optional() }),
    ],
    { error: ({ code }) => (code === 'invalid_union' ? 'must be "add", "upsert", "patch" or "delete"' : undefined) },
  );
  return z.strictObject({
    operations: z.array(operation).min(1, 'there must be at least one').max(operationsMax),
    onSchemaError,
  });
}

/** The body after its rows were taken out. */
const readBody = batchBody(z.strictObject({}));

interface BatchInput {
  readonly teamId: string;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
  readonly body: ReadBatch;
  readonly limits: RowLimits;
}

/** Throws InvalidRequest. */
export function batch({ teamId, tableId, ifMatch, body, limits }: BatchInput): EventOf<'TableBatchRequested'> {
  const read = body.operations ?? [];
  const members = body.operations === null ? {} : { operations: read.map(({ members }) => members) };
  const given = parse(readBody, { ...body.members, ...members }, (message) => new InvalidRequest(message));
  const operations = given.operations.map((operation, place): RowOperation => {
    if (operation.op === 'add' || operation.op === 'upsert') return { op: operation.op };
    const { op, rowID } = operation;
    const { givenRowId } = read[place]!;
    if (op === 'patch' && givenRowId !== undefined && givenRowId !== rowID) {
      const message = `operations[${place}].row.$rowID: must be absent, or the ID of the patched row`;
      throw new InvalidRequest(message);
    }
    return {
      op,
      row: addressOf(rowID),
      ifMatch: operation.ifMatch === undefined ? null : versionOf(operation.ifMatch),
    };
  });
  return {
    type: 'TableBatchRequested',
    teamId,
    tableId,
    ifMatch,
    onSchemaError: given.onSchemaError,
    limits,
    operations,
    profile: body.block?.profile ?? emptyProfile,
  };
}

/** A malformed ID gets the answer of an unknown one: it becomes an address that no row has. */
function addressOf(rowID: string): RowAddress {
  return parseRowId(rowID) ?? { version: 0n, ordinal: 0, index: 0 };
}

/** A version beyond the maximum counts as the maximum. */
function versionOf(text: string): bigint {
  const version = BigInt(text);
  return version < versionMax ? version : versionMax;
}
