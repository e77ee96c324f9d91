/** Rows for copies of tables: as they are presented, out of parts of extents. */
import { rowIdPrefix, rowIdSuffix } from '../../src/language/events/row-id.ts';
import { isPresentedBy, type PresenterFor } from '../../src/language/values/presentation.ts';
import { changedForm, parseForm } from './stored-body.ts';

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

/** The rows of a part of an extent that are there. */
export interface RowsOfExtent {
  readonly version: bigint;
  readonly ordinal: number;
  readonly form: string;
  readonly count: number;
  readonly first: number;
  readonly bodies: string;
  /** Null if no row of the extent was changed: then the rows follow each other. */
  readonly indexes: readonly number[] | null;
  readonly changeVersions: readonly (string | null)[] | null;
  readonly tailVersions: readonly (string | null)[] | null;
  readonly ids: readonly (string | null)[] | null;
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

/** One by one: all at once, they would be moved by the garbage collector. */
export function* rowsOf(
  part: RowsOfExtent,
  { widened }: { readonly widened: bigint },
  presenterFor: PresenterFor,
): Generator<CopiedRow, undefined> {
  const { version, ordinal, first, indexes, changeVersions, tailVersions, ids } = part;
  const form = parseForm(part.form);
  const present = isPresentedBy(form, widened) ? null : presenterFor(form);
  const prefix = rowIdPrefix(version, ordinal);
  for (const [at, stored] of part.bodies.split('\n').entries()) {
    const index = indexes === null ? first + at : indexes[at]!;
    const changed = changeVersions?.[at] ?? null;
    let body = stored;
    if (changed === null) body = present === null ? stored : present(stored);
    else if (!isPresentedBy(changedForm(BigInt(changed)), widened))
      body = presenterFor(changedForm(BigInt(changed)))(stored);
    const own = changed ?? tailVersions?.[at] ?? null;
    const rowVersion = own === null ? version : BigInt(own);
    yield { version, ordinal, index, rowVersion, rowId: ids?.[at] ?? prefix + rowIdSuffix(index), body };
  }
}
