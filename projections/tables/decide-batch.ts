/** A batch: several operations on the rows of a table, all or none (docs/decisions/0076). */
import type { Event, EventData, EventOf } from '../../src/language/events/event.ts';
import {
  pushRange,
  rangeOfRow,
  type OperationCounts,
  type Outcome,
  type RowRange,
} from '../../src/language/events/outcome.ts';
import { formatRowId } from '../../src/language/events/row-id.ts';
import { namesRow, operationOfRow, profileOfOne, type RowOperation } from '../../src/language/events/row-operations.ts';
import { decideSchema, type SchemaDecision } from '../../src/language/values/decide-schema.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { AppliedPart, Sequence } from '../../src/log/batch/sequence.ts';
import { changedSince, unchangedTable } from './guards.ts';
import { fixedColumns } from './keys/table-key.ts';
import { droppedCells } from './place-rows.ts';
import type { Table, TableChange } from './table.ts';
import type { TableStates } from './tables.state.ts';

type Batch = EventOf<'TableBatchRequested'>;

export const batchSequence: Sequence<Batch, TableStates, TableChange> = {
  open: openBatch,
  partsOf,
  outcomeOf,
  refusalOf,
};

/**
 * Guards: table, suspension, If-Match, the columns that a filter read, cells. Decides the schema once for all rows of
 * the batch, as if one request added them.
 */
function openBatch(states: TableStates, event: Event<Batch>, at: LogPlace): Decision<TableChange> {
  const { data } = event;
  const found = unchangedTable(states, data, at);
  if ('refused' in found) return found.refused;
  const { table } = found;
  // The filter and the patch are meant for the columns that the rows had when they were found.
  const changedColumns = changedSince('schema', table.widened, data.foundAt ?? null, at);
  if (changedColumns !== null) return refusedWith(changedColumns);
  const decided = decideSchemaOf(data, table, states.tables.schema(table), at.version);
  if ('refusal' in decided) return refusedWith(decided.refusal);

  // After this point it must succeed.
  const { schema, changed, widened } = decided;
  const result = droppedCells(data.onSchemaError, data.profile, schema, false);
  if (!changed) return apply([], table.version, result);
  const next = {
    ...table,
    version: at.version,
    schemaVersion: at.version,
    widened: widened ? at.version : table.widened,
  };
  return apply(
    [
      { kind: 'table', table: next },
      { kind: 'schema', tableId: table.id, version: at.version, schema },
    ],
    at.version,
    result,
  );
}

/**
 * Decides the schema for the rows of a batch. Messages name the operation of a row; a patch by filter is the same for
 * all rows.
 */
function decideSchemaOf(
  { operations, foundAt, profile, onSchemaError: mode, limits }: Batch,
  table: Pick<Table, 'keyColumns'>,
  schema: TableSchema,
  version: bigint,
): SchemaDecision {
  return decideSchema({
    schema,
    profile,
    mode,
    version,
    columnsMax: limits.columnsMax,
    fixed: fixedColumns(table),
    place: ({ row }, columnId) =>
      foundAt === undefined ? `operations[${operationOfRow(operations, row)}].row.${columnId}` : columnId,
  });
}

/** Each operation as a single request. */
function partsOf({ teamId, tableId, onSchemaError, limits, operations, profile: whole }: Batch): EventData[] {
  const profile = profileOfOne(whole);
  return operations.map((operation): EventData => {
    switch (operation.op) {
      case 'add':
      case 'upsert':
        return {
          type: 'RowsAddRequested',
          teamId,
          tableId,
          ifMatch: null,
          onSchemaError,
          limits,
          ...(operation.op === 'upsert' ? { mode: operation.op } : {}),
          rows: { kind: 'few', profile },
        };
      case 'patch': {
        const { row, ifMatch } = operation;
        return { type: 'RowPatchRequested', teamId, tableId, row, ifMatch, onSchemaError, limits, profile };
      }
      case 'delete': {
        const { row, ifMatch } = operation;
        return { type: 'RowDeleteRequested', teamId, tableId, row, ifMatch };
      }
    }
  });
}

/** Names the operation; by its row if a filter found that, because the client does not know the operations. */
function refusalOf({ operations, foundAt }: Batch, { type, message }: Refusal, part: number): Refusal {
  const operation = operations[part]!;
  const place = `operations[${part}]`;
  // For an addition alone, the row is the first one of its body.
  if (message.startsWith('rows[0]')) return { type, message: message.replace('rows[0]', `${place}.row`) };
  if (foundAt === undefined || !namesRow(operation)) return { type, message: `${place}: ${message}` };
  const name = `row ${formatRowId(operation.row)}: `;
  return { type, message: message.startsWith(name) ? message : `${name}${message}` };
}

/** The table has the version of the event, unless nothing changed. */
function outcomeOf(
  { operations }: Batch,
  parts: readonly AppliedPart[],
  at: LogPlace,
  opened: Outcome | null,
): Outcome {
  if (opened?.status !== 'applied') throw new Error('a batch was decided that nobody opened');
  const rows: RowRange[] = [];
  const counts = { added: 0, patched: 0, unchanged: 0, deleted: 0 } satisfies OperationCounts;
  for (const [place, operation] of operations.entries()) {
    const { outcome, changed } = parts[place]!;
    counts[changed ? countedAs(operation, outcome) : 'unchanged'] += 1;
    pushRange(rows, namesRow(operation) ? rangeOfRow(operation.row) : rowOf(outcome));
  }
  const result = { ...opened.result, rows, operations: counts };
  return { status: 'applied', result, etag: parts.some(({ changed }) => changed) ? at.version : opened.etag };
}

/** What an operation did that changed something. */
function countedAs({ op }: RowOperation, outcome: Outcome): keyof OperationCounts {
  switch (op) {
    case 'add':
      return 'added';
    case 'upsert':
      return outcome.status === 'applied' && outcome.result.operations?.added === 1 ? 'added' : 'patched';
    case 'patch':
      return 'patched';
    case 'delete':
      return 'deleted';
  }
}

/** The row of an operation that does not name one. */
function rowOf(outcome: Outcome): RowRange {
  const row = outcome.status === 'applied' ? outcome.result.rows?.[0] : undefined;
  if (row === undefined) throw new Error('an operation has no row');
  return row;
}
