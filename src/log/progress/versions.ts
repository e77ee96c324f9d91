/** The versions of a partition's events (ARCHITECTURE.md, "Invariants"). */
import { namedBy } from '../../language/events/event-names.ts';
import type { Event } from '../../language/events/event.ts';

/**
 * A range of versions that stand for nothing: those of lost events, and those that were skipped when the log was
 * resumed.
 */
export interface Gap {
  readonly from: bigint;
  /** Exclusive. */
  readonly to: bigint;
}

export interface Versions {
  /** The version of an event is this base plus its offset. */
  readonly base: bigint;
  readonly gaps: readonly Gap[];
}

/** The gaps as the progress of a partition stores them. */
export function readGaps(text: string): readonly Gap[] {
  return (JSON.parse(text) as [string, string][]).map(([from, to]) => ({ from: BigInt(from), to: BigInt(to) }));
}

/** The versions from an event on. The base never falls, so a repeated LogResumed changes nothing. */
export function versionsAt({ data }: Event, offset: bigint, before: Versions): Versions {
  const base = namedBy(data, 'base');
  if (base === null || base <= before.base) return before;
  return { base, gaps: [...before.gaps, { from: before.base + offset, to: base + offset }] };
}

/** Whether these records may change the versions. If so, they are not decided ahead. */
export function changesVersions(entries: readonly { readonly event: Event }[]): boolean {
  return entries.some(({ event }) => namedBy(event.data, 'base') !== null);
}
