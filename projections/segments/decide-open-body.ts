/** Opens and closes bodies of several blocks. An open body counts to a quota of its team. */
import type { Event, EventOf } from '../../src/language/events/event.ts';
import {
  apply,
  refusedWith,
  type AnyChange,
  type Decide,
  type Decision,
  type LogPlace,
} from '../../src/log/batch/decision.ts';
import { exceededQuota } from '../teams/guards.ts';
import { bodyLife } from './arrived-rows.ts';
import type { OpenBody, OpenBodyChange } from './body-block.ts';
import type { SegmentStates } from './segments.state.ts';

/** Guard: the number of open bodies. */
export function decideOpenBody(
  { teams }: SegmentStates,
  { data }: Event<EventOf<'BodyOpenRequested'>>,
  at: LogPlace,
): Decision<OpenBodyChange> {
  const { teamId, bodyId, limits } = data;
  const tooMany = exceededQuota(teams.known(teamId), 'openBodies', 1, limits.openMax);
  if (tooMany !== null) return refusedWith(tooMany);
  return apply([
    { kind: 'openBody', body: { bodyId, teamId, openedAt: at.time }, isOpen: true },
    { kind: 'usage', teamId, quota: 'openBodies', by: 1 },
  ]);
}

/** Maintenance appends this event when a body is too old to be closed. An early, late or repeated event is harmless. */
export function decideBodyExpired(
  { segments }: SegmentStates,
  { data }: Event<EventOf<'BodyExpired'>>,
  at: LogPlace,
): Decision<OpenBodyChange> {
  const body = segments.openBody(data.teamId, data.bodyId);
  return apply(body !== null && at.time - body.openedAt > bodyLife ? closed(body) : []);
}

/**
 * Decides an event whose rows may come as a body of blocks. Whatever the outcome is, the event closes the body. Bodies
 * from before `BodyOpenRequested` were never opened, and count nowhere.
 */
export function closingBody<
  States extends SegmentStates,
  E extends EventOf<'TableCreateRequested' | 'RowsAddRequested' | 'TableOverwriteRequested' | 'ChunkPutRequested'>,
  Change extends AnyChange,
>(decide: Decide<States, E, Change>): Decide<States, E, Change | OpenBodyChange> {
  return (states, event, at) => {
    const decision = decide(states, event, at);
    const { teamId, rows } = event.data;
    const body = rows.kind === 'body' ? states.segments.openBody(teamId, rows.bodyId) : null;
    return body === null ? decision : { ...decision, changes: [...decision.changes, ...closed(body)] };
  };
}

function closed(body: OpenBody): readonly OpenBodyChange[] {
  return [
    { kind: 'openBody', body, isOpen: false },
    { kind: 'usage', teamId: body.teamId, quota: 'openBodies', by: -1 },
  ];
}
