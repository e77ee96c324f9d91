/** The end of a stash. Garbage collection removes its chunks; tables keep the segments that they have extents of. */
import type { Event, EventOf } from '../../src/events/event.ts';
import { apply } from '../engine/decision.ts';
import type { Decision, LogPlace } from '../engine/decision.ts';
import type { ChunkChange, StashChange } from './stash.ts';
import type { StashStates } from './stashes.state.ts';
import { liveStash } from './live-stash.ts';

/** Spec 4.11. That there is no such stash is no error. */
export function decideDeleteStash(
  states: StashStates,
  { data: { teamId, stashId } }: Event<EventOf<'StashDeleteRequested'>>,
  at: LogPlace,
): Decision<StashChange | ChunkChange> {
  const stash = liveStash(states.stashes.stash(teamId, stashId), at);
  return apply(stash === null ? [] : [{ kind: 'stash', stash: { ...stash, endedAt: at.time } }]);
}

/** Whoever sees that the time of a stash is over says so: too early, too late and too often, and it makes no difference. */
export function decideStashExpired(
  states: StashStates,
  { data: { teamId, stashId, created } }: Event<EventOf<'StashExpired'>>,
  at: LogPlace,
): Decision<StashChange | ChunkChange> {
  const stash = states.stashes.stash(teamId, stashId);
  const isOver = stash !== null && stash.created === created && stash.endedAt === null && at.time >= stash.expiresAt;
  return apply(isOver ? [{ kind: 'stash', stash: { ...stash, endedAt: stash.expiresAt } }] : []);
}
