/** The end of a stash: DeleteStash (spec 4.11), or its expiry (spec section 3). */
import { z } from 'zod';
import type { EventOf } from '../src/events/event.ts';
import { stashId } from './inputs.ts';

export const stashPath = z.object({ stashID: stashId });

export function deleteStash(teamId: string, { stashID }: z.output<typeof stashPath>): EventOf<'StashDeleteRequested'> {
  return { type: 'StashDeleteRequested', teamId, stashId: stashID };
}

/** `created`: the version of the event that created this stash. */
export function expireStash(teamId: string, stashID: string, created: bigint): EventOf<'StashExpired'> {
  return { type: 'StashExpired', teamId, stashId: stashID, created };
}
