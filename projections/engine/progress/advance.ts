/** Advances the progress of a partition with the batch that is stored. */
import { createHash } from 'node:crypto';
import { bind, type BoundStatement } from '../../../src/database/combine.ts';
import type { Statement } from '../../../src/database/pipelined-client.ts';
import type { Event } from '../../../src/events/event.ts';
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
  text: `update progress set next = $3, time = $4, last_hash = $5
    where partition = $1 and next = $2 and epoch = $6 and layout = coalesce($7, layout) returning base, layout`,
};

/** The base that is returned is the one before the batch. */
const advanceAndRaise: Statement<ProgressMark> = {
  name: 'advance_progress_and_raise_base',
  text: `update progress set next = $3, time = $4, last_hash = $5,
      log_id = coalesce($7::uuid, progress.log_id), base = greatest(progress.base, $8)
    from progress before
    where progress.partition = $1 and progress.next = $2 and progress.epoch = $6 and before.partition = progress.partition
    returning before.base, progress.layout`,
};

/**
 * Advances the progress past the records if it stands at the first of them; returns a row with the mark as it was, or none. `layout`:
 * the layout under which rows were loaded ahead; null if they are loaded in this transaction.
 */
export function advanceProgress(partition: number, entries: readonly Entry[], epoch: bigint, layout: bigint | null): BoundStatement<ProgressMark> {
  const first = entries[0]!.record;
  const last = entries.at(-1)!.record;
  const values = [partition, first.offset, last.offset + 1n, last.time, createHash('sha256').update(last.bytes).digest(), epoch];
  if (!raisesBase(entries)) return bind(advance, [...values, layout]);
  const base = entries.reduce((before, { event }) => baseAt(event, before), 0n);
  return bind(advanceAndRaise, [...values, logIdOf(entries), base]);
}

/** Whether the base may be higher after these records. Such records are not decided ahead. */
export function raisesBase(entries: readonly Entry[]): boolean {
  return entries.some(({ event }) => 'base' in event.data);
}

/** The base of an event, and of those that follow it: it never falls. */
export function baseAt({ data }: Event, before: bigint): bigint {
  return 'base' in data && data.base > before ? data.base : before;
}

/** The ID of the log, if it begins with these records. Elsewhere a GenerationStarted names nothing. */
function logIdOf([first]: readonly Entry[]): string | null {
  const { record, event } = first!;
  return record.offset === 0n && event.data.type === 'GenerationStarted' ? event.data.logId : null;
}
