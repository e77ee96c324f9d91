/** What a stash is at a time of the log. Only this tells, and not whether its end has been noted: that only cleans up. */
import type { LogPlace } from '../engine/decision.ts';
import type { Stash } from './stash.ts';

/** For how long it is remembered that a stash has ended, in milliseconds of log time (docs/spec/decisions.md 6). */
export const endedStashLife = 7 * 24 * 3_600_000;

/** The stash, if it can be imported and added to. */
export function liveStash(stash: Stash | null, { time }: Pick<LogPlace, 'time'>): Stash | null {
  return stash !== null && stash.endedAt === null && time < stash.expiresAt ? stash : null;
}

/** Whether there was no such stash, as far as anybody remembers. */
export function isForgotten(stash: Stash | null, { time }: Pick<LogPlace, 'time'>): boolean {
  return stash === null || time - (stash.endedAt ?? stash.expiresAt) > endedStashLife;
}

/** Why there is no stash of this name. */
export function missingStash(stashId: string, stash: Stash | null, at: Pick<LogPlace, 'time'>): string {
  if (stash === null || isForgotten(stash, at)) return `there is no stash ${stashId}`;
  return stash.endedAt !== null && stash.endedAt < stash.expiresAt ? `stash ${stashId} was deleted` : `stash ${stashId} has expired`;
}
