/** The row IDs that rows come with in the event of an overwrite itself: read once, when they are fetched and when they are decided. */
import type { EventRows, Event } from '../../src/events/event.ts';
import { rowIdsOf, rowIdTexts } from '../../src/events/row-bodies.ts';
import { findRowIdRuns, RowIdRuns, runBytes } from '../../src/events/row-id-runs.ts';

export interface EventRowIds {
  readonly runs: RowIdRuns;
  /** The same as bytes (findRowIdRuns). */
  readonly bytes: Uint8Array;
  /** By row; null for one that came without. */
  readonly texts: readonly (string | null)[];
}

/** What is known of the row IDs of an overwrite is in memory at once. Part of the rules. */
export const runsMax = 1_000_000;

/** A part of what comes with a request: how many rows, and the runs of their row IDs. */
export interface PartWithIds {
  readonly profile: { readonly rows: number };
  readonly ids: Uint8Array | null;
}

/** The row IDs that the rows of all parts came with; null where none did, and 'tooMany' for more runs than may be looked at. */
export function runsOf(parts: readonly PartWithIds[]): RowIdRuns | 'tooMany' | null {
  const runs = parts.reduce((sum, { ids }) => sum + runsIn(ids), 0);
  if (runs === 0) return null;
  if (runs > runsMax) return 'tooMany';
  return new RowIdRuns(parts.map(({ profile: { rows }, ids }) => ({ rows, runs: ids })));
}

export function runsIn(ids: Uint8Array | null): number {
  return ids === null ? 0 : ids.length / runBytes;
}

const known = new WeakMap<Event, EventRowIds>();

/** Null where no row came with one. */
export function rowIdsOfEvent(event: Event, rows: EventRows): EventRowIds | null {
  const before = known.get(event);
  if (before !== undefined || !rows.ids) return before ?? null;
  const ids = rowIdsOf(event.body(), rows)!;
  const bytes = findRowIdRuns(ids);
  const read = { runs: new RowIdRuns([{ rows: rows.profile.rows, runs: bytes }]), bytes, texts: rowIdTexts(ids) };
  known.set(event, read);
  return read;
}
