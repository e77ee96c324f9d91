/** Advances the progress of a partition, together with storing a batch. */
import { bind, type BoundStatement } from '../../storage/database/combine.ts';
import type { Statement } from '../../storage/database/pipelined-client.ts';
import type { Entry } from '../batch/entry.ts';
import { readGaps, type Versions } from './versions.ts';

/** The columns of a partition's progress that decisions and look-ups depend on. */
interface StoredMark {
  readonly base: bigint;
  /** The gaps of `Versions`, as JSON. */
  readonly gaps: string;
  /**
   * Raised when compaction moves rows or garbage collection drops segments. Objects that were loaded under another
   * layout must be loaded again.
   */
  readonly layout: bigint;
  /** The teams whose events are held, as JSON. Each change of it raises the layout. */
  readonly held: string;
}

const advance: Statement<StoredMark> = {
  name: 'advance_progress',
  text: `update progress set next = $3, time = $4, last_hash = $5, log_id = coalesce($6::uuid, log_id)
    where partition = $1 and next = $2 and epoch = $7 and layout = coalesce($8, layout)
    and ($9::bytea is null or last_hash = $9) and halted is null
    returning base, gaps, layout, held`,
};

/** The assumptions of a batch that was decided outside its storing transaction. */
interface Assumed {
  /** The layout under which rows were loaded. */
  readonly layout: bigint;
  /**
   * The hash of the record before the batch. If Postgres lost commits, the progress may return to this offset after
   * other records.
   */
  readonly hashBefore: Uint8Array;
}

/** The progress after a batch. `lastHash`: the hash of its last record. */
interface Advance {
  readonly partition: number;
  readonly entries: readonly Entry[];
  readonly lastHash: Uint8Array;
  readonly epoch: bigint;
  /** Null if everything is loaded in this transaction. */
  readonly assumed: Assumed | null;
}

/**
 * Advances the progress past the records, if it is at the first of them, the assumptions hold, and the partition has
 * not halted. Returns a row with the mark, or no row.
 */
export function advanceProgress({ partition, entries, lastHash, epoch, assumed }: Advance): BoundStatement<StoredMark> {
  const first = entries[0]!.record;
  const last = entries.at(-1)!.record;
  return bind(advance, [
    partition,
    first.offset,
    last.offset + 1n,
    last.time,
    lastHash,
    logIdOf(entries),
    epoch,
    assumed?.layout ?? null,
    assumed?.hashBefore ?? null,
  ]);
}

/** The ID of the log, if these records begin it. At any other place a GenerationStarted names nothing. */
function logIdOf([first]: readonly Entry[]): string | null {
  const { record, event } = first!;
  return record.offset === 0n && event.data.type === 'GenerationStarted' ? event.data.logId : null;
}

export function readVersions({ base, gaps }: Pick<StoredMark, 'base' | 'gaps'>): Versions {
  return { base, gaps: readGaps(gaps) };
}

const store: Statement = {
  name: 'store_versions',
  text: 'update progress set base = $2, gaps = $3 where partition = $1',
};

/** Stores the versions that a partition has from its progress on. */
export function storeVersions(partition: number, { base, gaps }: Versions): BoundStatement {
  return bind(store, [partition, base, encodeGaps(gaps)]);
}

/** The stored form of gaps. */
export function encodeGaps(gaps: Versions['gaps']): string {
  return JSON.stringify(gaps.map(({ from, to }) => [String(from), String(to)]));
}
