/** Recorded outcomes, and how long they are valid. */
import type { Outcome } from '../../language/events/outcome.ts';

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

/**
 * How long it is stored, in log time. A retry under an old key makes a new job for an old outcome, and is readable as
 * long again.
 */
export const outcomesKept = 2 * outcomeLife;

/**
 * Whether an outcome still applies to a command whose record has this time; if it is too old, the command counts as
 * new.
 */
export function stillCounts({ time }: Pick<RecordedOutcome, 'time'>, now: number): boolean {
  return now - time < outcomeLife;
}

/** One attempt at a command. */
export interface Attempt {
  /** Where its record is in the log; null while that is not known. */
  readonly place: { readonly offset: bigint; readonly time: number } | null;
  /** The log time until which its record can take effect; null: at any time. Then its command has no other attempt. */
  readonly notAfter: number | null;
}

/**
 * Whether an outcome of the command is that of this attempt, too. It is if the record of the attempt was decided as a
 * repetition, which the time of that record says, and no clock. Where the record is not known, the outcome must count
 * until the attempt is too late.
 */
export function answersAttempt(
  { offset, time }: Pick<RecordedOutcome, 'offset' | 'time'>,
  { place, notAfter }: Attempt,
): boolean {
  if (place === null) return notAfter === null || stillCounts({ time }, notAfter);
  return offset >= place.offset || stillCounts({ time }, place.time);
}
