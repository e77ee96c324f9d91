/** Converts the result of the SQL in shown-rows.ts: each body as the schema presents it. */
import type { PresenterFor } from '../../../src/language/values/presentation.ts';
import type { Extent, StoredRow } from '../table.ts';
import { changedForm, bodyFormOf, presenterOfForm } from './stored-body.ts';

/** Consecutive existing rows of an extent, as `rowsBetween` returns them. Each list has an entry per row. */
export interface RowsOfPart {
  /** The number of rows; null if no row is needed. */
  readonly count: number | null;
  /** The index of the first row. Null, as is `bodies`, if there is no row. */
  readonly first: number | null;
  /** The bodies, joined by line feeds. */
  readonly bodies: string | null;
  /** How the bodies in the segment are stored; null: they need no conversion. */
  readonly form: string | null;
  /**
   * The indexes, and the versions of changes. Null: no row of the extent was changed, so the indexes are consecutive.
   */
  readonly indexes: readonly number[] | null;
  readonly changeVersions: readonly (string | null)[] | null;
  /** The versions of rows that came through a tail. Null or absent: no row did, or the versions were not selected. */
  readonly tailVersions?: readonly (string | null)[] | null;
  /** The IDs that rows retain; null: none does. */
  readonly ids: readonly (string | null)[] | null;
}

/** A presented row. */
interface ReadRow {
  readonly index: number;
  /** Null: the row has the ID of its place. */
  readonly retainedId: string | null;
  /** Null: the row has the version of its extent. */
  readonly version: string | null;
  readonly body: string;
}

/** Whether rows may need conversion. If false, `presentRows` never asks `presenterFor` for a conversion. */
export function areConverted({ form, changeVersions }: RowsOfPart, widened: bigint): boolean {
  return form !== null || (changeVersions !== null && widened > 0n);
}

export function indexIn({ indexes, first }: RowsOfPart, at: number): number {
  return indexes === null ? first! + at : indexes[at]!;
}

/** The first rows of a part, one by one. If all were in memory at once, the garbage collector would copy them. */
export function* presentRows(
  part: RowsOfPart,
  presenterFor: PresenterFor,
  count: number,
): Generator<ReadRow, undefined> {
  const { changeVersions, tailVersions, ids } = part;
  const bodies = part.bodies ?? '';
  const present = presenterOfForm(part.form, presenterFor);
  for (let at = 0, start = 0; at < count; at += 1) {
    const end = bodies.indexOf('\n', start);
    const stored = bodies.slice(start, end < 0 ? undefined : end);
    start = end + 1;
    const changed = changeVersions?.[at] ?? null;
    yield {
      index: indexIn(part, at),
      retainedId: ids?.[at] ?? null,
      version: changed ?? tailVersions?.[at] ?? null,
      body: (changed === null ? present : presenterFor(changedForm(BigInt(changed))))(stored),
    };
  }
}

/** A row that `rowAtIndex` found: its change, or else the row in its segment. */
export interface FoundRow {
  readonly rowIndex: number;
  readonly changeVersion: bigint | null;
  readonly changeBody: string | null;
  readonly tailVersion: bigint | null;
  readonly storedBody: string | null;
}

/** Throws if there is neither a change nor a stored row. */
export function toStoredRow(extent: Extent, found: FoundRow): StoredRow {
  const { rowIndex: index, changeVersion, changeBody, tailVersion, storedBody } = found;
  if (changeVersion !== null) return changedRow(extent, index, changeVersion, changeBody);
  if (storedBody === null)
    throw new Error(`row ${index} of extent ${extent.key} has no body: the read model is damaged`);
  const version = tailVersion ?? extent.version;
  return { extent, index, version, body: storedBody, form: bodyFormOf(extent), isChange: false };
}

/** A row that was patched, or deleted (`body` null), at this version. */
export function changedRow(extent: Extent, index: number, version: bigint, body: string | null): StoredRow {
  return { extent, index, version, body, form: changedForm(version), isChange: true };
}
