/** The operations of a batch, in the order in which they take effect. */
import type { Profile } from '../values/profile.ts';
import { formatRowId, parseRowId, type RowAddress } from './row-id.ts';

/**
 * One operation. The rows of adds, upserts and patches are in the body of their event, in the order of the operations.
 */
export type RowOperation =
  | { readonly op: 'add' | 'upsert' }
  | { readonly op: 'patch' | 'delete'; readonly row: RowAddress; readonly ifMatch: bigint | null };

/** Whether the event's body holds a row for the operation. */
export function carriesRow({ op }: RowOperation): boolean {
  return op !== 'delete';
}

/**
 * Upper bound for the cost of an operation, besides its bytes (cost.ts): about half of the cost of a single request.
 */
export const operationCost = 4_000;

export function costOfOperations(operations: readonly RowOperation[]): number {
  return operations.length * operationCost;
}

/** Whether the operation names its row by its ID. */
export function namesRow(operation: RowOperation): operation is Extract<RowOperation, { readonly row: RowAddress }> {
  return 'row' in operation;
}

/** The index of the operation to which a row of the body belongs. Throws if no operation has this row. */
export function operationOfRow(operations: readonly RowOperation[], row: number): number {
  let before = -1;
  const found = operations.findIndex((operation) => carriesRow(operation) && (before += 1) === row);
  if (found === -1) throw new Error(`no operation has row ${row}`);
  return found;
}

/** The profile of one row whose cells are known to fit, because the schema was decided for all rows together. */
export function profileOfOne({ rule, rowBytesMax }: Profile): Profile {
  return { rows: 1, bytes: rowBytesMax, rowBytesMax, columns: [], rule };
}

/** As JSON: the kind of operation, the row's ID, and the version in `ifMatch`. */
type WireOperation = readonly [op: RowOperation['op'], row?: string, ifMatch?: string];

export function operationsToWire(operations: readonly RowOperation[]): readonly WireOperation[] {
  return operations.map((operation): WireOperation => {
    if (!namesRow(operation)) return [operation.op];
    const { op, row, ifMatch } = operation;
    return ifMatch === null ? [op, formatRowId(row)] : [op, formatRowId(row), String(ifMatch)];
  });
}

/** Throws for an operation that this version does not know, because it must not be skipped. */
export function operationsFromWire(wire: readonly WireOperation[]): readonly RowOperation[] {
  return wire.map(([op, row, ifMatch]): RowOperation => {
    if (op === 'add' || op === 'upsert') return { op };
    if (op !== 'patch' && op !== 'delete') throw new Error(`the unknown operation ${String(op)}`);
    return { op, row: parseRowId(row!)!, ifMatch: ifMatch === undefined ? null : BigInt(ifMatch) };
  });
}
