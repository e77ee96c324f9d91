/** The identities that rows come with in the event of an overwrite itself: read once, when they are fetched and when they are decided. */
import type { CarriedRows, Event } from '../src/events/event.ts';
import { rowIdsOf, rowIdTexts } from '../src/events/row-bodies.ts';
import { findRowIdRuns, RowIdRuns } from '../src/events/row-id-runs.ts';

export interface CarriedIds {
  readonly runs: RowIdRuns;
  /** The same as bytes (findRowIdRuns). */
  readonly bytes: Uint8Array;
  /** By row; null for one that came without. */
  readonly texts: readonly (string | null)[];
}

const known = new WeakMap<Event, CarriedIds>();

/** Null where no row came with one. */
export function carriedIds(event: Event, rows: CarriedRows): CarriedIds | null {
  const before = known.get(event);
  if (before !== undefined || !rows.ids) return before ?? null;
  const ids = rowIdsOf(event.body(), rows)!;
  const bytes = findRowIdRuns(ids);
  const carried = { runs: new RowIdRuns([{ rows: rows.profile.rows, runs: bytes }]), bytes, texts: rowIdTexts(ids) };
  known.set(event, carried);
  return carried;
}
