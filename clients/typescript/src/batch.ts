/** Operations on the rows of a table that take effect together, or not at all (docs/spec/batches.md). */
import { droppedCellsOf } from './headers.ts';
import type { operations } from './interface.ts';
import type { RowChanges } from './rows.ts';
import { versionOf, type Version, type Versioned } from './versions.ts';

/** An operation of a batch. If its row has changed since the version in `ifMatch`, the whole batch is refused. */
export type RowOperation<Row> =
  | { readonly op: 'add'; readonly row: Row }
  | { readonly op: 'upsert'; readonly row: RowChanges<Row> }
  | { readonly op: 'patch'; readonly rowID: string; readonly row: RowChanges<Row>; readonly ifMatch?: Version }
  | { readonly op: 'delete'; readonly rowID: string; readonly ifMatch?: Version };

/** The result of a batch or an upsert: the row ID of each operation or row, in order, and the version of the table. */
export interface Changed extends Versioned<{ readonly rowIDs: readonly string[] }> {
  /** How many operations added, patched or deleted a row, and how many changed nothing. */
  readonly added: number;
  readonly patched: number;
  readonly deleted: number;
  readonly unchanged: number;
  /** How many cells were dropped, if `dropColumns` allowed that. */
  readonly droppedCells: number;
}

/** Rows that met a filter, and what became of them. With `dryRun` nothing did. */
export interface WhereOptions {
  /** Whether to say which rows meet the filter, and change nothing. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

type BatchBody = operations['changeRows']['requestBody']['content']['application/json'];

/** The body of a request, in which versions have no quotes. */
export function batchBody<Row>(
  batch: readonly RowOperation<Row>[],
  onSchemaError: BatchBody['onSchemaError'],
): BatchBody {
  const listed = batch.map((operation) =>
    'ifMatch' in operation && operation.ifMatch !== undefined
      ? { ...operation, ifMatch: operation.ifMatch.slice(1, -1) }
      : operation,
  );
  return { operations: listed as BatchBody['operations'], ...(onSchemaError !== undefined && { onSchemaError }) };
}

/** The result in an answer. Throws TablogError if the answer has no version. */
export function changedBy(rowIDs: readonly string[], response: Response): Changed {
  const counts = response.headers.get('tablog-rows') ?? '';
  const count = (what: string): number => Number(new RegExp(`\\b${what}=(\\d+)`).exec(counts)?.[1] ?? 0);
  return {
    data: { rowIDs },
    version: versionOf(response),
    added: count('added'),
    patched: count('patched'),
    deleted: count('deleted'),
    unchanged: count('unchanged'),
    droppedCells: droppedCellsOf(response),
  };
}
