/**
 * PatchTable: renames a table, changes its columns, and declares or removes its key. Columns are added, removed and
 * ordered, and their display names and types change.
 */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import {
  columnIdBytesMax,
  columnType,
  displayName,
  givenColumn,
  parse,
  tableKey,
  tableName,
  boundedText,
} from './inputs.ts';
import { InvalidRequest } from './invalid-request.ts';

/** As many columns as a table may have. */
const columnsMax = 1000;

const columnId = boundedText(columnIdBytesMax);

const columnChange = z
  .strictObject({ id: columnId, displayName: displayName.nullable().optional(), type: columnType.optional() })
  .refine(({ displayName: name, type }) => name !== undefined || type !== undefined, {
    error: 'must have a displayName or a type',
  })
  .meta({ minProperties: 2 });

export const patchTableBody = z.strictObject({
  name: tableName.optional(),
  columns: z
    .array(columnChange)
    .max(columnsMax)
    .default([])
    .describe('Columns that get a new display name (null: none) or a new type.'),
  add: z.array(givenColumn).max(columnsMax).default([]).describe('New columns, which come after the others.'),
  remove: z
    .array(columnId)
    .max(columnsMax)
    .default([])
    .describe('The IDs of the columns to remove, with their values.'),
  order: z
    .array(columnId)
    .max(columnsMax)
    .default([])
    .describe('The IDs of the columns that come first, in this order. The others follow in their present order.'),
  key: tableKey.nullable().optional().describe('The columns in which no two rows may be equal; null: there is no key.'),
});

export const patchTableQuery = z.strictObject({
  onMisfit: z
    .enum(['abort', 'clear'])
    .default('abort')
    .describe(
      'What happens to cells that do not fit the new type of their column. `abort`: the request is refused. ' +
        '`clear`: the cells become empty.',
    ),
});

interface PatchTableInput {
  readonly teamId: string;
  readonly tableId: string;
  readonly ifMatch: bigint | null;
  readonly query: z.output<typeof patchTableQuery>;
  /** The body's members. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** Throws InvalidRequest. */
export function patchTable({
  teamId,
  tableId,
  ifMatch,
  query,
  members,
}: PatchTableInput): EventOf<'TablePatchRequested'> {
  const body = parse(patchTableBody, members, (message) => new InvalidRequest(message));
  const { name, columns, add, remove, order, key } = body;
  const event = {
    type: 'TablePatchRequested',
    teamId,
    tableId,
    ifMatch,
    name: name ?? null,
    ...(key === undefined ? {} : { key }),
    ...(key ? { preparedKey: null } : {}),
  } as const;
  const changes = add.length + remove.length + order.length;
  // The encoding from before columns could be changed, so that processes of earlier versions can read it.
  if (changes === 0 && columns.every(({ type }) => type === undefined))
    return { ...event, columns: columns.map(({ id, displayName: shown }) => ({ id, displayName: shown! })) };
  if (key) throw new InvalidRequest('key: columns are changed in the same request; declare the key in one of its own');
  const { onMisfit } = query;
  return {
    ...event,
    columns: [],
    columnChanges: { remove, change: columns, add, order, columnsMax, onMisfit, tried: null },
  };
}
