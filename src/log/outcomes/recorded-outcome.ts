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
 * How long an outcome is stored, in log time. If a client retries under an old key, the retry makes a new job for the
 * old outcome, which must stay readable for another seven days.
 */
export const outcomesKept = 2 * outcomeLife;

/**
 * Whether an outcome still applies to a command whose record has this time. If it is too old, the command counts as
 * new.
 */
export function stillCounts({ time }: Pick<RecordedOutcome, 'time'>, now: number): boolean {
  return now - time < outcomeLife;
}

/** One attempt at a command. */
export interface CommandAttempt {
  /** The place of its record in the log; null while unknown. */
  readonly place: { readonly offset: bigint; readonly time: number } | null;
  /**
   * The log time until which its record can take effect; null: at any time. If null, its command has no other attempt.
   */
  readonly notAfter: number | null;
}

/**
 * Whether an outcome of the command is also the outcome of this attempt. It is if the record of the attempt was decided
 * as a repetition. The time of that record shows this, never a clock. If the record is unknown, the outcome must stay
 * valid until the attempt is too late.
 */
export function answersAttempt(
  { offset, time }: Pick<RecordedOutcome, 'offset' | 'time'>,
  { place, notAfter }: CommandAttempt,
): boolean {
  if (place === null) return notAfter === null || stillCounts({ time }, notAfter);
  return offset >= place.offset || stillCounts({ time }, place.time);
}
