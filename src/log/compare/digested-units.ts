import type { DigestCache } from './digest-cache.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * The things of a model that change apart, each with a digest of its own, so that only those are read again that have
 * changed.
 */
export interface DigestedUnits {
  /** What they are, in the plural. */
  readonly what: string;
  /** Sections with this `owner` have rows of the units. */
  readonly owner: string;
  /**
   * Selects `unit` (an ID), its `partition`, and a `fingerprint`: nothing that is compared of the unit changes while
   * that stays. Compaction and garbage collection do not change it.
   */
  readonly query: string;
  /**
   * Digests what sections do not have of these units: SHA-256 in hexadecimal digits, by unit; none for a unit that has
   * nothing besides sections. Null if the snapshot became too old: then the cache has what is done. Calls `onRowsRead`
   * with how many rows were read since the last call.
   */
  readonly digest: (
    snapshot: Snapshot,
    units: readonly string[],
    cache: DigestCache | null,
    onRowsRead: (rows: number) => void,
  ) => Promise<ReadonlyMap<string, string> | null>;
}
