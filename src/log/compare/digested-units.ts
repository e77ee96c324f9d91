import type { DigestCache } from './digest-cache.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * The things of a model that change independently. Each has a digest of its own, so that only changed ones are read
 * again.
 */
export interface DigestedUnits {
  /** The name of these things, in the plural. */
  readonly what: string;
  /** Sections with this `owner` have rows of the units. */
  readonly owner: string;
  /**
   * Selects `unit` (an ID), its `partition`, and a `fingerprint`: while the fingerprint stays the same, no compared
   * content of the unit changes. Compaction and garbage collection do not change it.
   */
  readonly query: string;
  /**
   * Digests the content of these units that is in no section: SHA-256 in hexadecimal digits, by unit. A unit without
   * such content has no entry. Null if the snapshot became too old; the cache then has the finished units. Calls
   * `onRowsRead` with the number of rows read since the last call.
   */
  readonly digest: (
    snapshot: Snapshot,
    units: readonly string[],
    cache: DigestCache | null,
    onRowsRead: (rows: number) => void,
  ) => Promise<ReadonlyMap<string, string> | null>;
}
