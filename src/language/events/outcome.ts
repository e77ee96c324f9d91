/** The outcome of a command: derived from the log, kept per command, rebuilt by replay. */
import type { ColumnMisfits } from '../values/column-misfits.ts';
import type { Refusal } from '../values/refusal.ts';
import type { RowAddress } from './row-id.ts';

/**
 * Added rows: `extents` consecutive extents, the first at (version, ordinal), each with `count` rows from `first` on.
 * They determine the row IDs.
 */
export interface RowRange {
  readonly version: bigint;
  readonly ordinal: number;
  readonly first: number;
  readonly count: number;
  /** Absent: one. */
  readonly extents?: number;
  /** The table, if some of the rows retain row IDs of earlier generations. These IDs are in the read model. */
  readonly retainedIn?: string;
}

/** The range of one row. */
export function rangeOfRow({ version, ordinal, index }: RowAddress): RowRange {
  return { version, ordinal, first: index, count: 1 };
}

/** Adds the range of a row to a list. Consecutive rows of an extent share one range. */
export function pushRange(ranges: RowRange[], row: RowRange): void {
  const last = ranges.at(-1);
  const follows =
    last !== undefined &&
    last.version === row.version &&
    last.ordinal === row.ordinal &&
    last.first + last.count === row.first;
  if (follows) ranges[ranges.length - 1] = { ...last, count: last.count + 1 };
  else ranges.push(row);
}

/** The total number of rows in these ranges. */
export function countRowsOf(ranges: readonly RowRange[]): number {
  return ranges.reduce((sum, { count, extents = 1 }) => sum + count * extents, 0);
}

export type RetainingRange = RowRange & { readonly retainedIn: string };

/** An upload that was created or completed. */
export interface UploadResult {
  readonly id: string;
  readonly contentType: string;
  readonly fileName: string;
  /** The largest file that may be sent, in bytes, and the deadline for it, in milliseconds of log time. */
  readonly sizeMax: number;
  readonly expiresAt: number;
  /** The name of the file in the store; null before the upload is completed. */
  readonly file: string | null;
}

/** What the operations of a batch did, each counted once. An operation that changed nothing is `unchanged`. */
export interface OperationCounts {
  readonly added: number;
  readonly patched: number;
  readonly unchanged: number;
  readonly deleted: number;
}

/** The result of an applied command: only what its answer needs. */
export interface AppliedResult {
  readonly tableId?: string;
  /** For a batch: the row of each operation, in the order of the operations. */
  readonly rows?: readonly RowRange[];
  readonly operations?: OperationCounts;
  readonly linkedAppIds?: readonly string[];
  /** How many cells `dropColumns` dropped; absent without `dropColumns`, and if the cells were not counted. */
  readonly droppedCells?: number;
  readonly upload?: UploadResult;
  /** The cells that a change of types has cleared; absent if no new type had to be tried. */
  readonly misfits?: readonly ColumnMisfits[];
  /**
   * Nothing was changed, because the table has too many rows for the decision to try, and the API has not tried them at
   * this version of the table (docs/decisions/0077).
   */
  readonly untried?: true;
}

export type Outcome = (
  | { readonly status: 'applied'; readonly result: AppliedResult }
  | { readonly status: 'refused'; readonly refusal: Refusal }
) & {
  /** The version in the answer's ETag; absent if the answer has no version. */
  readonly etag?: bigint | undefined;
  /**
   * A digest of the request, for commands with an Idempotency-Key: reusing the key with another request is an error.
   */
  readonly requestDigest?: string | undefined;
};
