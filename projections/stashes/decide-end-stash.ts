/** Ends stashes. Garbage collection removes their chunks; tables keep the segments that their extents use. */
import type { Event, EventOf } from '../../src/language/events/event.ts';
import { apply } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { ChunkChange, Stash, StashChange } from './stash.ts';
import type { StashStates } from './stashes.state.ts';
import { liveStash } from './live-stash.ts';

/** Spec 4.11. Deleting a missing stash succeeds. */
export function decideDeleteStash(
  states: StashStates,
  { data: { teamId, stashId } }: Event<EventOf<'StashDeleteRequested'>>,
  at: LogPlace,
): Decision<StashChange | ChunkChange> {
  const stash = liveStash(states.stashes.stash(teamId, stashId), at);
  return apply(stash === null ? [] : ended(stash, at.time));
}

/** Maintenance appends this event when a stash has expired. An early, late or repeated event is harmless. */
export function decideStashExpired(
  states: StashStates,
  { data: { teamId, stashId, created } }: Event<EventOf<'StashExpired'>>,
  at: LogPlace,
): Decision<StashChange | ChunkChange> {
  const stash = states.stashes.stash(teamId, stashId);
  const isOver = stash !== null && stash.created === created && stash.endedAt === null && at.time >= stash.expiresAt;
  return apply(isOver ? ended(stash, stash.expiresAt) : []);
}

function ended(stash: Stash, endedAt: number): readonly StashChange[] {
  return [
    { kind: 'stash', stash: { ...stash, endedAt } },
    { kind: 'usage', teamId: stash.teamId, quota: 'stashes', by: -1 },
  ];
}
