/** What ends a stash: what it held is left to the sweeper, because tables may have links to it. */
import type { EventOf } from '../../src/events/event.ts';
import { apply } from '../decision.ts';
import type { Decision, DecisionState, LogPlace } from '../decision.ts';
import { liveStash } from './live-stash.ts';

/** Spec 4.11. That there is no such stash is no error. */
export function decideDeleteStash(
  state: DecisionState,
  { teamId, stashId }: EventOf<'StashDeleteRequested'>,
  at: LogPlace,
): Decision {
  const stash = liveStash(state.stash(teamId, stashId), at);
  return apply(stash === null ? [] : [{ kind: 'stash', stash: { ...stash, endedAt: at.time } }]);
}

/** Whoever sees that the time of a stash is over says so: too early, too late and too often, and it makes no difference. */
export function decideStashExpired(
  state: DecisionState,
  { teamId, stashId, created }: EventOf<'StashExpired'>,
  at: LogPlace,
): Decision {
  const stash = state.stash(teamId, stashId);
  const isOver = stash !== null && stash.created === created && stash.endedAt === null && at.time >= stash.expiresAt;
  return apply(isOver ? [{ kind: 'stash', stash: { ...stash, endedAt: stash.expiresAt } }] : []);
}
