/** Outcomes as they are recorded, and for how long they count. */
import type { Outcome } from '../../../src/events/outcome.ts';

/** An outcome, and the time of the record that it came of. */
export interface RecordedOutcome {
  readonly commandId: string;
  readonly offset: bigint;
  readonly time: number;
  readonly outcome: Outcome;
}

/** An outcome that may have taken the place of an older one. */
export interface KnownOutcome extends RecordedOutcome {
  /** The time of the older one's record; null: there was none. */
  readonly replacedTime: number | null;
}

/** For how much log time a command's ID is remembered (docs/spec/decisions.md 1): seven days, in milliseconds. */
export const outcomeLife = 7 * 24 * 3_600_000;

/** For how much log time it is stored. A try under an old key has an old outcome and a job that is young: it can be asked for as long again. */
export const outcomesKept = 2 * outcomeLife;

/** Whether an outcome is that of a command which is tried at this time, or one of so long ago that the command counts as new. */
export function stillCounts({ time }: Pick<RecordedOutcome, 'time'>, now: number): boolean {
  return now - time < outcomeLife;
}
