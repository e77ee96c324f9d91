/** Rows for copies of tables: presented rows, from parts of extents. */
import { rowIdPrefix, rowIdSuffix } from '../../src/language/events/row-id.ts';
import type { PresenterFor } from '../../src/language/values/presentation.ts';
import { presentRows, type RowsOfPart } from './read/read-rows.ts';

/** A presented row, at its place. */
export interface CopiedRow {
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
  readonly rowId: string;
  readonly rowVersion: bigint;
  readonly body: string;
}

/** A change of a row that a copy may have: the new body, or null if the row is deleted. */
export interface CopiedChange extends Omit<CopiedRow, 'body'> {
  readonly body: string | null;
}

/** The counts of an extent. A copy compares them with its own to find the rows that it lacks. */
export interface CopiedExtent {
  readonly key: bigint;
  readonly version: bigint;
  readonly ordinal: number;
  readonly rows: number;
  readonly bytes: number;
}

/** The rows that a part of an extent has, at least one. */
export interface RowsOfExtent extends RowsOfPart {
  readonly version: bigint;
  readonly ordinal: number;
}

/** The rows of an extent from `start` to before `ends`. */
export interface PartOfExtent {
  readonly key: bigint;
  readonly start: number;
  readonly ends: number;
}

/** Parts of at most this many rows. A generator, because there may be as many parts as rows. */
export function* partsOf(
  extents: readonly (CopiedExtent & { readonly from: number })[],
  rowsMax: number,
): Generator<PartOfExtent, undefined> {
  for (const { key, from, rows } of extents) {
    for (let start = from; start < rows; start += rowsMax) yield { key, start, ends: Math.min(rows, start + rowsMax) };
  }
}

export function* copiedRowsOf(part: RowsOfExtent, presenterFor: PresenterFor): Generator<CopiedRow, undefined> {
  const { version, ordinal } = part;
  const prefix = rowIdPrefix(version, ordinal);
  for (const { index, retainedId, version: own, body } of presentRows(part, presenterFor, part.count!)) {
    const rowVersion = own === null ? version : BigInt(own);
    yield { version, ordinal, index, rowVersion, rowId: retainedId ?? prefix + rowIdSuffix(index), body };
  }
}
