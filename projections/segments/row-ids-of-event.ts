/** The row IDs that the event of an overwrite carries. Parsed once, for loading and for the decision. */
import type { Event } from '../../src/language/events/event.ts';
import type { EventRows } from '../../src/language/events/row-source.ts';
import { rowIdsOf, rowIdTexts } from '../../src/language/events/row-bodies.ts';
import { findRowIdRuns, RowIdRuns, runBytes } from '../../src/language/events/row-id-runs.ts';
import type { Steps } from '../../src/language/time-slices.ts';

export interface EventRowIds {
  /** Their runs (findRowIdRuns). */
  readonly bytes: Uint8Array;
  /** By row; null for a row that came without an ID. */
  readonly texts: readonly (string | null)[];
}

/** The most runs of one overwrite, which are in memory together. Must not change: replay would give other outcomes. */
export const runsMax = 1_000_000;

/** A part of a request's rows: how many, and the runs of their row IDs. */
export interface PartWithIds {
  readonly profile: { readonly rows: number };
  readonly ids: Uint8Array | null;
}

/**
 * The row IDs of all parts; null if no row came with one, 'tooMany' above `runsMax` runs. Stops after the IDs of
 * `issuersMax` issuers.
 */
export function* rowIdRunsOf(
  parts: readonly PartWithIds[],
  issuersMax = Infinity,
): Steps<RowIdRuns | 'tooMany' | null> {
  const runs = parts.reduce((sum, { ids }) => sum + runsIn(ids), 0);
  if (runs === 0) return null;
  if (runs > runsMax) return 'tooMany';
  return yield* RowIdRuns.read(
    parts.map(({ profile: { rows }, ids }) => ({ rows, runs: ids })),
    issuersMax,
  );
}

export function runsIn(ids: Uint8Array | null): number {
  return ids === null ? 0 : ids.length / runBytes;
}

const known = new WeakMap<Event, EventRowIds>();

/** Null if no row came with an ID. */
export function rowIdsOfEvent(event: Event, rows: EventRows): EventRowIds | null {
  const before = known.get(event);
  if (before !== undefined || !rows.ids) return before ?? null;
  const ids = rowIdsOf(event.body(), rows)!;
  const read = { bytes: findRowIdRuns(ids), texts: rowIdTexts(ids) };
  known.set(event, read);
  return read;
}
