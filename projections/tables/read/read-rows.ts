/** Reads what the SQL of shown-rows.ts found: each body as the schema presents it. */
import type { PresenterFor } from '../../../src/language/values/presentation.ts';
import type { Extent, StoredRow } from '../table.ts';
import { changedForm, formOf, presenterOfForm } from './stored-body.ts';

/** Consecutive rows of an extent that are there, as `rowsBetween` gives them: lists have an entry for each. */
export interface RowsOfPart {
  /** How many; null if none is needed. */
  readonly count: number | null;
  /** The index of the first row; null, as `bodies`, if there is none. */
  readonly first: number | null;
  /** The bodies, joined by line feeds. */
  readonly bodies: string | null;
  /** How the bodies are stored that are no changes; null: they read as they are. */
  readonly form: string | null;
  /**
   * The indexes, and the versions of changes; null: no row of the extent was changed, so the rows follow each other.
   */
  readonly indexes: readonly number[] | null;
  readonly changeVersions: readonly (string | null)[] | null;
  /** The versions of rows that came through a tail; null, or left out: none has one, or nobody asked for them. */
  readonly tailVersions?: readonly (string | null)[] | null;
  /** The IDs that rows retain; null: none does. */
  readonly ids: readonly (string | null)[] | null;
}

/** A row as it is presented. */
interface ReadRow {
  readonly index: number;
  /** Null: its ID is that of its place. */
  readonly retainedId: string | null;
  /** Null: it is that of its extent. */
  readonly version: string | null;
  readonly body: string;
}

/** Whether rows may have to be converted: else `presenterFor` is not asked for anything but what reads as it is. */
export function areConverted({ form, changeVersions }: RowsOfPart, widened: bigint): boolean {
  return form !== null || (changeVersions !== null && widened > 0n);
}

export function indexIn({ indexes, first }: RowsOfPart, at: number): number {
  return indexes === null ? first! + at : indexes[at]!;
}

/** The first rows of a part, one by one: all at once, they would be moved by the garbage collector. */
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

/** A row that `rowAtIndex` found: its change, else the row in its segment. */
export interface FoundRow {
  readonly rowIndex: number;
  readonly changeVersion: bigint | null;
  readonly changeBody: string | null;
  readonly tailVersion: bigint | null;
  readonly storedBody: string | null;
}

/** Throws if the row is not there at all. */
export function toStoredRow(extent: Extent, found: FoundRow): StoredRow {
  const { rowIndex: index, changeVersion, changeBody, tailVersion, storedBody } = found;
  if (changeVersion !== null) return changedRow(extent, index, changeVersion, changeBody);
  if (storedBody === null)
    throw new Error(`row ${index} of extent ${extent.key} has no body: the read model is damaged`);
  const version = tailVersion ?? extent.version;
  return { extent, index, version, body: storedBody, form: formOf(extent), isChange: false };
}

/** A row that was patched, or deleted (`body` null), at this version. */
export function changedRow(extent: Extent, index: number, version: bigint, body: string | null): StoredRow {
  return { extent, index, version, body, form: changedForm(version), isChange: true };
}
