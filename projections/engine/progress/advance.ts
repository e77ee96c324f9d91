/** Advances the progress of a partition with the batch that is stored. */
import { createHash } from 'node:crypto';
import { bind, type BoundStatement } from '../../../src/database/combine.ts';
import type { Statement } from '../../../src/database/pipelined-client.ts';
import type { EventOf } from '../../../src/events/event.ts';
import type { Entry } from '../batch.ts';

/** The columns of a partition's progress that decisions and look-ups depend on. */
export interface ProgressMark {
  /** The version of an event is this base plus its offset. */
  readonly base: bigint;
  /** Raised when compaction moves rows or garbage collection drops segments. What was loaded under another layout must be loaded again. */
  readonly layout: bigint;
}

const advance: Statement<ProgressMark> = {
  name: 'advance_progress',
  text: `update progress set next = $3, time = $4, last_hash = $5, log_id = coalesce($6::uuid, log_id), base = coalesce($7, base)
    where partition = $1 and next = $2 and epoch = $8 and layout = coalesce($9, layout) returning base, layout`,
};

/**
 * Advances the progress past the records if it stands at the first of them; returns a row with the mark, or none. `layout`: the layout
 * under which rows were loaded ahead; null if they are loaded in this transaction.
 */
export function advanceProgress(partition: number, entries: readonly Entry[], epoch: bigint, layout: bigint | null): BoundStatement<ProgressMark> {
  const first = entries[0]!.record;
  const last = entries.at(-1)!.record;
  const genesis = genesisOf(entries);
  return bind(advance, [
    partition, first.offset, last.offset + 1n, last.time, createHash('sha256').update(last.bytes).digest(), genesis?.logId ?? null,
    genesis?.base ?? null, epoch, layout,
  ]);
}

/** Whether the log begins with these records. */
export function hasGenesis(entries: readonly Entry[]): boolean {
  return genesisOf(entries) !== null;
}

/** The event that names the log, if the log begins with it. Elsewhere such an event has no effect. */
function genesisOf([first]: readonly Entry[]): EventOf<'GenerationStarted'> | null {
  const { record, event } = first!;
  return record.offset === 0n && event.data.type === 'GenerationStarted' ? event.data : null;
}
