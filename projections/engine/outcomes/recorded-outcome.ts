/** Recorded outcomes, and how long they are valid. */
import type { Outcome } from '../../../src/events/outcome.ts';

/** An outcome, and the offset and time of its record. */
export interface RecordedOutcome {
  readonly commandId: string;
  readonly offset: bigint;
  readonly time: number;
  readonly outcome: Outcome;
}

/** An outcome that may have replaced an older one. */
export interface KnownOutcome extends RecordedOutcome {
  /** The time of the replaced outcome's record; null if there was none. */
  readonly replacedTime: number | null;
}

/** How long a command's ID is remembered, in milliseconds of log time (docs/spec/decisions.md 1): seven days. */
export const outcomeLife = 7 * 24 * 3_600_000;

/** How long it is stored, in log time. A retry under an old key makes a new job for an old outcome, and is readable as long again. */
export const outcomesKept = 2 * outcomeLife;

/** Whether an outcome still applies to a command tried at this time; if it is too old, the command counts as new. */
export function stillCounts({ time }: Pick<RecordedOutcome, 'time'>, now: number): boolean {
  return now - time < outcomeLife;
}
