/** The end of a stash: DeleteStash (spec 4.11), or its expiry (spec section 3). */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import { stashNameOf } from '../src/language/events/stash-name.ts';
import { stashId } from './inputs.ts';

export const stashPath = z.object({
  stashID: stashId.meta({ description: 'The name that the client gives the stash.', examples: ['import-7'] }),
});

/** `appId`: the app of the token, which has stashes of its own; null: the token is for the whole team. */
export function deleteStash(
  teamId: string,
  appId: string | null,
  { stashID }: z.output<typeof stashPath>,
): EventOf<'StashDeleteRequested'> {
  return { type: 'StashDeleteRequested', teamId, stashId: stashNameOf(appId, stashID) };
}

/**
 * `stashId`: the name with the app (src/language/events/stash-name.ts). `created`: the version of the event that
 * created this stash.
 */
export function expireStash(teamId: string, stashId: string, created: bigint): EventOf<'StashExpired'> {
  return { type: 'StashExpired', teamId, stashId, created };
}
