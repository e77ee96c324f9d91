/** The state of a stash at a log time. It does not depend on `StashExpired`, which only triggers the cleanup. */
import { stashIdIn } from '../../src/language/events/stash-name.ts';
import type { LogPlace } from '../../src/log/batch/decision.ts';
import type { Stash } from './stash.ts';

/** How long an ended stash is remembered, in milliseconds of log time (docs/spec/decisions.md 6). */
export const endedStashLife = 7 * 24 * 3_600_000;

/** The stash, if it can be imported and added to; otherwise null. */
export function liveStash<S extends Pick<Stash, 'endedAt' | 'expiresAt'>>(
  stash: S | null,
  { time }: Pick<LogPlace, 'time'>,
): S | null {
  return stash !== null && stash.endedAt === null && time < stash.expiresAt ? stash : null;
}

/** Whether the stash never existed or ended too long ago to be remembered. */
export function isForgotten(stash: Stash | null, { time }: Pick<LogPlace, 'time'>): boolean {
  return stash === null || time - (stash.endedAt ?? stash.expiresAt) > endedStashLife;
}

/** Explains why there is no live stash of this name. The message has the ID that the client gave. */
export function missingStash(name: string, stash: Stash | null, at: Pick<LogPlace, 'time'>): string {
  const stashId = stashIdIn(name);
  if (stash === null || isForgotten(stash, at)) return `there is no stash ${stashId}`;
  return stash.endedAt !== null && stash.endedAt < stash.expiresAt
    ? `stash ${stashId} was deleted`
    : `stash ${stashId} has expired`;
}
