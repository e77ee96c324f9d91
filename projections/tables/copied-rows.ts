/** Rows for copies of tables: as they are presented, out of parts of extents. */
import { rowIdPrefix, rowIdSuffix } from '../../src/language/events/row-id.ts';
import type { PresenterFor } from '../../src/language/values/presentation.ts';
import { presentRows, type RowsOfPart } from './read/read-rows.ts';

/** A row as it is presented, at its place. */
export interface CopiedRow {
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
  readonly rowId: string;
  readonly rowVersion: bigint;
  readonly body: string;
}

/** A change of a row that a copy may have: its new body, null if it is deleted. */
export interface CopiedChange extends Omit<CopiedRow, 'body'> {
  readonly body: string | null;
}

/** Rows of an extent, by which a copy finds out what it lacks. */
export interface CopiedExtent {
  readonly key: bigint;
  readonly version: bigint;
  readonly ordinal: number;
  readonly rows: number;
  readonly bytes: number;
}

/** The rows of a part of an extent that are there: one at least. */
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

/** Parts of so many rows at most, made one by one: there may be as many as rows. */
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
